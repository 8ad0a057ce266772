"""`chaosagent replay`: run stored counterexamples again."""

from __future__ import annotations

from pathlib import Path

import click

from chaosagent.cli import output
from chaosagent.cli.formats import Formats, github_flag, json_flag, junit_file, sarif_file


@click.command()
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--mode",
    default="schedule",
    show_default=True,
    help="`schedule`: inject again; `exact`: reproduce offline, bit for bit; or `both`.",
)
@click.option("--config", help="Another configuration of the target, for schedule.")
@click.option("--target", help="Another target: a name, module:attribute or file.py:attribute.")
@click.option(
    "--draws",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Runs of a stochastic target that asks what the record cannot answer.",
)
@click.option(
    "--placements",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Most runs to try the faults of a record at every call that may be the recorded one.",
)
@click.option(
    "--around",
    is_flag=True,
    help="Of each record that is HELD, also run neighbours: other values and operators, other operations of the "
    "interface, one more fault. One that breaks the contract makes it DODGED, and is saved as a record.",
)
@click.option(
    "--neighbours",
    type=click.IntRange(1),
    help="Most neighbours that --around runs for a record, the cheapest first; 200 by default.",
)
@click.option(
    "--accept", is_flag=True, help="Write what has CHANGED next to each record, as reviewed: from then on it counts."
)
@click.option(
    "--promote", is_flag=True, help="Write next to each record that is HELD that this is expected from now on."
)
@junit_file
@sarif_file
@github_flag
@json_flag
def replay(
    paths: tuple[Path, ...],
    *,
    mode: str,
    config: str | None,
    target: str | None,
    draws: int,
    placements: int,
    around: bool,
    neighbours: int | None,
    accept: bool,
    promote: bool,
    junit: Path | None,
    sarif: Path | None,
    github: bool,
    json: bool,
) -> int:
    """Run stored counterexamples again: does today's target survive them, and do they still say what they said?

    PATH is a replay record, or a folder that holds some.

    `schedule` injects the same faults into today's target, at every call that may be the recorded one, and the worst
    run decides: VIOLATED, HELD, CHANGED (effects, contract or what the target does without faults differ; review that
    and count it with --accept), MOVED or NOT_LANDED. `exact` serves everything outside the target from the record and
    asks for the same trace: REPRODUCED or DIVERGED. The records of a study are a regression test: fix the target, and
    replay them in CI. A fix can evade the very faults of a record; --around runs their neighbours, and says DODGED
    where one of them breaks the contract.

    What is expected of a record stands in a text file next to it (`chaosagent suite` and --promote write it). A failure
    that is expected, as it is known and open, is listed as KNOWN and is no complaint; one that is expected to hold and
    is VIOLATED came back.

    Exit code: 0 all HELD, REPRODUCED or KNOWN, 1 some VIOLATED or DODGED, 2 some REFUSED (a record that cannot be read,
    or that is not to be trusted), 3 some CHANGED, MOVED, NOT_LANDED or DIVERGED, 4 some ERROR. With `both`, DIVERGED is
    no complaint where the target HELD: it has changed.

    \b
    Examples:
      chaosagent replay chaosagent-out/triage/replays
      chaosagent replay --mode exact tests/replays
      chaosagent replay --config hardened chaosagent-out/triage/replays --json
      chaosagent replay --accept tests/replays
      chaosagent replay --promote tests/replays
      chaosagent replay --around tests/replays
      chaosagent replay tests/replays --junit replays.xml --sarif replays.sarif --github
    """
    from chaosagent.api.replays.replayed import cases_of, exit_code_of, page_of, to_json
    from chaosagent.api.replays.replaying import MODES, Writing, records_at, replay_all
    from chaosagent.errors import UnknownNameError, UsageError
    from chaosagent.replays.outcome import NEIGHBOURS, RunsMax

    if mode not in MODES:
        raise UnknownNameError("mode", mode, MODES, "--mode")
    if neighbours is not None and not around:
        raise UsageError("--neighbours says how many --around runs; add --around, or leave it out.")
    formats = Formats(junit, sarif, github)
    formats.check()
    with output.stdout_for_answers():
        reruns = replay_all(
            records_at(paths),
            mode=mode,
            config=config,
            target=target,
            runs_max=RunsMax(draws, placements, (neighbours or NEIGHBOURS) if around else 0),
            writing=Writing(accept, promote),
        )
    formats.write("chaosagent replay", cases_of(reruns))
    if json:
        output.answer_json(to_json(reruns))
    else:
        output.answer(page_of(reruns))
    return exit_code_of(reruns)
