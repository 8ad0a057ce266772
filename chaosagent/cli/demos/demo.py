"""`chaosagent demo`: watch it work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chaosagent.cli import output

OUT = Path("chaosagent-demo")


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for everything that it writes.")] = OUT,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Search, break, explain and repair a customer-support assistant while you watch; two minutes on two cores.

    Searches the built-in triage assistant for the cheapest faults that break it, tells the story of one, replays each
    offline and against the repaired version, and draws how many tasks survive as the faults grow: R(B).

    Exit code: 0 when everything happened that it promises.

    [bold]Example[/bold]

    chaosagent demo --out demo-out
    """
    from chaosagent.cli.demos.demonstration import Demonstration
    from chaosagent.report.page import Page

    def tell(page: Page) -> None:
        if not json:
            output.answer(page)

    shown = Demonstration(out, tell).run()
    if json:
        output.answer_json(shown.to_json())
    return 0 if shown.kept else 4
