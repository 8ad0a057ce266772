"""`chaosagent check`: contracts on traces that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chaosagent.cli import output

if TYPE_CHECKING:
    from chaosagent.execution.checking import Tally
    from chaosagent.trace.span_files import Reading

HELD, VIOLATED, UNJUDGED = 0, 1, 3
SPAN_SUFFIXES = (".jsonl", ".json", ".ndjson")


def check(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Files of spans (OTLP JSON lines or object, console exporter), replay records, or folders of them.",
            metavar="TRACES...",
            show_default=False,
        ),
    ],
    *,
    contracts: Annotated[
        Path | None,
        typer.Option(help="A file of contracts, or a study file.", metavar="FILE.yaml", show_default=False),
    ] = None,
    contract: Annotated[
        list[str] | None,
        typer.Option(help="Only this contract; may be given several times.", metavar="NAME", show_default=False),
    ] = None,
    skip_broken: Annotated[bool, typer.Option("--skip-broken", help="Leave out what cannot be read.")] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write JUnit XML there, too.", metavar="FILE.xml", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Check contracts on traces of production: OpenTelemetry GenAI spans. Nothing is executed.

    A violation is told with file, line, trace, span, step and agent. What spans do not prove is unknown, with the
    reason: contracts that compare with the run without injections, runs whose end is missing, arguments that were not
    recorded. What tools commit is told by `effects` in the file of contracts: `effects: {refund: order}` makes two
    refunds of one order a violation of at-most-once. Files of any size are read as a stream.

    Exit code: 0 nothing violated, 1 a hard contract is violated, 2 bad input, 3 nothing could be judged.

    [bold]Examples[/bold]

    chaosagent check traces.jsonl --contracts contracts.yaml

    chaosagent check traces/ --contract at-most-once --contract no-crash --json

    chaosagent check chaosagent-out/triage/replays
    """
    from chaosagent.execution.checking import Tally
    from chaosagent.report.checked import checked_json, checked_page, junit_of
    from chaosagent.studyfile.checks import load_checks
    from chaosagent.trace.span_files import Reading

    paths = _files(traces)
    reading = Reading()
    with output.stdout_for_answers():
        tally = Tally(load_checks(contracts, contract or []))
        _read(paths, tally, reading, skip_broken=skip_broken)
    if junit is not None:
        junit.write_text(junit_of(tally), encoding="utf-8")
    if json:
        output.answer_json(checked_json(tally, reading))
    else:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        output.answer(checked_page(f"{paths[0]}{more}", tally, reading))
    return VIOLATED if tally.violated else HELD if tally.judged else UNJUDGED


def _files(traces: list[Path]) -> list[Path]:
    """Return the files named, and those in the folders named, each once."""
    from chaosagent.errors import UsageError
    from chaosagent.replays.store import SUFFIX

    found: dict[Path, None] = {}
    for path in traces:
        if path.is_dir():
            inside = sorted(child for child in path.rglob("*") if child.suffix in (*SPAN_SUFFIXES, SUFFIX))
            if not inside:
                endings = ", ".join(f"*{suffix}" for suffix in (*SPAN_SUFFIXES, SUFFIX))
                raise UsageError(f"{path} holds no traces ({endings}). Name files of spans, or replay records.")
            found.update(dict.fromkeys(inside))
        elif path.exists():
            found[path] = None
        else:
            raise UsageError(f"{path} does not exist. Name files of spans (*.jsonl, *.json), or replay records.")
    return list(found)


def _read(paths: list[Path], tally: Tally, reading: Reading, *, skip_broken: bool) -> None:
    """Judge the traces of all files; those of spans together, as the spans of one trace may be in several."""
    from chaosagent.errors import UsageError
    from chaosagent.replays.store import SUFFIX
    from chaosagent.trace.genai import run_of
    from chaosagent.trace.span_files import read_groups

    rules = tally.checks.rules
    for path in paths:
        if path.suffix == SUFFIX:
            try:
                _add_record(path, tally)
            except UsageError as error:
                if not skip_broken:
                    raise
                reading.note(error)
    spans = [path for path in paths if path.suffix != SUFFIX]
    for group in read_groups(spans, reading, skip_broken=skip_broken):
        try:
            run = run_of(group.trace_id, group.spans, rules)
        except UsageError as error:
            if not skip_broken:
                raise
            reading.note(error)
            continue
        tally.lossy = reading.broken_count > 0
        tally.add(run._replace(unfinished=run.unfinished or group.cut))


def _add_record(path: Path, tally: Tally) -> None:
    """Judge the trace of a replay record, which knows its task and the run without injections."""
    from chaosagent.execution.checking import Case
    from chaosagent.replays.store import read_record
    from chaosagent.trace.genai import ImportedRun, StepPlace
    from chaosagent.trace.genai_content import Gaps
    from chaosagent.trace.otlp import SourcePlace

    record = read_record(path)
    place = StepPlace("", SourcePlace(str(path), 0))
    places = (place,) * len(record.trace.steps)
    run = ImportedRun("", record.trace, places, place, "", Gaps(), foreign=False, tools={})
    tally.add(run, Case(record.task, record.nominal))
