"""`chaosagent replay`: run stored counterexamples again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from chaosagent.cli import output
from chaosagent.cli.formats import Formats, GitHub, JUnit, Sarif

Accept: TypeAlias = Annotated[
    bool,
    typer.Option("--accept", help="Write what has CHANGED next to each record, as reviewed: from then on it counts."),
]
Around: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--around",
        help="Of each record that is HELD, also run neighbours: other values and operators, other operations of the "
        "interface, one more fault. One that breaks the contract makes it DODGED, and is saved as a record.",
    ),
]
Neighbours: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Most neighbours that --around runs for a record, the cheapest first.  [default: 200]",
        min=1,
        show_default=False,
    ),
]
Promote: TypeAlias = Annotated[
    bool, typer.Option("--promote", help="Write next to each record that is HELD that this is expected from now on.")
]


def replay(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Replay records, or folders that hold some.", metavar="PATH...", show_default=False),
    ],
    *,
    mode: Annotated[
        str, typer.Option(help="`schedule`: inject again; `exact`: reproduce offline, bit for bit; or `both`.")
    ] = "schedule",
    config: Annotated[
        str | None, typer.Option(help="Another configuration of the target, for schedule.", show_default=False)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="Another target: a name, module:attribute or file.py:attribute.", show_default=False),
    ] = None,
    draws: Annotated[
        int, typer.Option(help="Runs of a stochastic target that asks what the record cannot answer.", min=1)
    ] = 20,
    placements: Annotated[
        int,
        typer.Option(help="Most runs to try the faults of a record at every call that may be the recorded one.", min=1),
    ] = 1_000,
    around: Around = False,
    neighbours: Neighbours = None,
    accept: Accept = False,
    promote: Promote = False,
    junit: JUnit = None,
    sarif: Sarif = None,
    github: GitHub = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run stored counterexamples again: does today's target survive them, and do they still say what they said?

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

    [bold]Examples[/bold]

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
