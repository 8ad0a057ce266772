"""Reading traces from files and records, and judging contracts on them; nothing is executed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.execution.checking import Case, Tally
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.store import SUFFIX, read_record
from chaosagent.trace.genai import ImportedRun, StepPlace, run_of
from chaosagent.trace.genai_content import Gaps
from chaosagent.trace.otlp import SourcePlace
from chaosagent.trace.span_files import Reading, read_groups

SPAN_SUFFIXES = (".jsonl", ".json", ".ndjson")


def trace_files(traces: Iterable[Path]) -> list[Path]:
    """Return the files named, and those in the folders named, each once.

    Raises:
        UsageError: A path does not exist, or a folder holds no traces.
    """
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


def judge_files(paths: Iterable[Path], tally: Tally, reading: Reading, *, skip_broken: bool) -> None:
    """Judge the traces of all files; those of spans together, as the spans of one trace may be in several.

    Args:
        paths: Of files of spans and of replay records.
        tally: Counts each trace.
        reading: Counts what the files hold.
        skip_broken: Note what cannot be read, and continue.

    Raises:
        UsageError: Something cannot be read, and is not to be skipped.
        PluginError: A contract raised something.
    """
    listed = list(paths)
    for path in [path for path in listed if path.suffix == SUFFIX]:
        try:
            judge_record(read_record(path), str(path), tally)
        except UsageError as error:
            if not skip_broken:
                raise
            reading.note(error)
    spans = [path for path in listed if path.suffix != SUFFIX]
    for group in read_groups(spans, reading, skip_broken=skip_broken):
        try:
            run = run_of(group.trace_id, group.spans, tally.checks.rules)
        except UsageError as error:
            if not skip_broken:
                raise
            reading.note(error)
            continue
        tally.lossy = reading.broken_count > 0
        tally.add(run._replace(unfinished=run.unfinished or group.cut))


def judge_record(record: ReplayRecord, name: str, tally: Tally) -> None:
    """Judge the trace of a replay record, which knows its task and the run without injections.

    Args:
        record: The record.
        name: What findings call its place.
        tally: Counts its trace.
    """
    place = StepPlace("", SourcePlace(name, 0))
    places = (place,) * len(record.trace.steps)
    run = ImportedRun("", record.trace, places, place, "", Gaps(), foreign=False, tools={})
    tally.add(run, Case(record.task, record.nominal))
