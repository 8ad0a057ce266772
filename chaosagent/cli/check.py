"""`chaosagent check`: contracts on traces that are there already."""

from __future__ import annotations

from pathlib import Path

import click

from chaosagent.cli import output
from chaosagent.cli.formats import Formats, github_flag, json_flag, junit_file, sarif_file

HELD, VIOLATED, UNJUDGED = 0, 1, 3


@click.command()
@click.argument("traces", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="TRACES...")
@click.option(
    "--contracts", type=click.Path(path_type=Path), metavar="FILE.yaml", help="A file of contracts, or a study file."
)
@click.option("--contract", multiple=True, metavar="NAME", help="Only this contract; may be given several times.")
@click.option("--skip-broken", is_flag=True, help="Leave out what cannot be read.")
@junit_file
@sarif_file
@github_flag
@json_flag
def check(
    traces: tuple[Path, ...],
    *,
    contracts: Path | None,
    contract: tuple[str, ...],
    skip_broken: bool,
    junit: Path | None,
    sarif: Path | None,
    github: bool,
    json: bool,
) -> int:
    """Check contracts on traces of production: OpenTelemetry GenAI spans, recorded conversations. Nothing is executed.

    TRACES are files of spans (OTLP JSON lines or object, console exporter), of conversations (OpenAI's chat messages),
    replay records, or folders of them.

    The report names each violation with file, line, trace, span, step and agent. What spans do not prove is unknown,
    with the reason: contracts that compare with the run without injections, runs whose end is missing, arguments that
    were not recorded. `effects` in the file of contracts names what tools commit: `effects: {refund: order}` makes two
    refunds of one order a violation of at-most-once. `failed_when: "^Error"` says which answers are failed calls, which
    commit nothing. Files of any size are read as a stream.

    Exit code: 0 nothing violated, 1 a hard contract is violated, 2 bad input, 3 nothing could be judged.

    \b
    Examples:
      chaosagent check traces.jsonl --contracts contracts.yaml
      chaosagent check traces/ --contract at-most-once --contract no-crash --json
      chaosagent check chaosagent-out/triage/replays
    """
    from chaosagent.api.check_traces import judge_files, trace_files
    from chaosagent.execution.trace_checks import Tally
    from chaosagent.report.trace_checks_page import cases_of_checks, checked_json, trace_checks_page
    from chaosagent.studyfile.checks import load_checks
    from chaosagent.trace.span_files import Reading

    formats = Formats(junit, sarif, github)
    formats.check()
    paths = trace_files(traces)
    reading = Reading()
    with output.stdout_for_answers():
        tally = Tally(load_checks(contracts, contract))
        judge_files(paths, tally, reading, skip_broken=skip_broken)
    formats.write("chaosagent check", cases_of_checks(tally))
    if json:
        output.answer_json(checked_json(tally, reading))
    else:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        output.answer(trace_checks_page(f"{paths[0]}{more}", tally, reading))
    return VIOLATED if tally.violated else HELD if tally.judged else UNJUDGED
