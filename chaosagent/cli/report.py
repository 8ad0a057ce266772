"""`chaosagent report`: write the page of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chaosagent.cli import output

OK = 0
Out = Annotated[
    Path | None,
    typer.Option(help="Where to write the page; report.html in the folder by default.", show_default=False),
]


def report(
    path: Annotated[
        Path,
        typer.Argument(help="Folder of a study, or its study file.", metavar="FOLDER|STUDY.yaml", show_default=False),
    ],
    *,
    out: Out = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object: the numbers of the page.")] = False,
) -> int:
    """Write one HTML page of a study: is it robust, what broke, how, where it is weak, and what that cost.

    The page needs nothing else: no network, no other file. Nothing is run. A study that still runs, or was interrupted,
    has a page of what is known so far. `chaosagent search` writes this page at its end.

    Exit code: 0; 2 where there is no study, or the page cannot be written.

    [bold]Examples[/bold]

    chaosagent report chaosagent-out/refunds

    chaosagent report study.yaml --out refunds.html
    """
    from chaosagent.api.stored.study_facts import study_facts
    from chaosagent.cli.status import folder_of
    from chaosagent.report.html.render import NAME, numbers_of, write_page
    from chaosagent.report.page import Page, name

    folder = folder_of(path)
    place = folder / NAME if out is None else out
    facts = study_facts(folder)
    write_page(facts, place)
    if json:
        output.answer_json({"page": str(place), **numbers_of(facts)})
    else:
        output.answer(Page().line("Written: ", name(str(place))))
    return OK
