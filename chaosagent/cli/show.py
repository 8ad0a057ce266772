"""`chaosagent show`: tell a counterexample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chaosagent.cli import output


def show(
    record: Annotated[Path, typer.Argument(help="A replay record (*.replay).", metavar="RECORD", show_default=False)],
    *,
    whole: Annotated[bool, typer.Option("--all", help="Show every step of the trace.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Tell a counterexample as a person would: the faults, what happened, what broke, and why each fault is needed.

    Nothing is run, and the target is not loaded.

    [bold]Example[/bold]

    chaosagent show chaosagent-out/triage/replays/refund-at-most-once-1f2e3d4c5b6a.replay
    """
    from chaosagent.replays.store import read_record
    from chaosagent.report.story import story_json, story_of

    found = read_record(record)
    if json:
        output.answer_json(story_json(found))
    else:
        output.answer(story_of(found, record, whole=whole))
    return 0
