"""`chaosagent demo`: watch it work."""

from __future__ import annotations

from pathlib import Path

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

OUT = Path("chaosagent-demo")


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=OUT,
    show_default=True,
    help="Folder for everything that it writes.",
)
@json_flag
def demo(*, out: Path, json: bool) -> int:
    """Search, break, explain and repair a customer-support assistant while you watch; two minutes on two cores.

    Searches the built-in triage assistant for the cheapest faults that break it, tells the story of one, replays each
    offline and against the repaired version, and draws how many tasks survive as the faults grow: R(B).

    Exit code: 0 when everything happened that it promises.

    \b
    Example:
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
