"""`chaosagent list`: what there is to use."""

from __future__ import annotations

from typing import Annotated

import typer

from chaosagent.cli import output

KINDS = ("operators", "searchers", "contracts", "targets")


def list_kind(
    kind: Annotated[
        str, typer.Argument(help="operators, searchers, contracts or targets.", metavar="KIND", show_default=False)
    ],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """List operators, searchers, contracts or targets, with what can be set; plug-ins that failed to load are named.

    [bold]Examples[/bold]

    chaosagent list operators

    chaosagent list contracts --json
    """
    from chaosagent.errors import UnknownNameError
    from chaosagent.report.catalogues import CATALOGUES

    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS, "chaosagent list")
    with output.stdout_for_answers():
        catalogue = CATALOGUES[kind]()
    if json:
        output.answer_json(catalogue.to_json())
    else:
        output.answer(catalogue.to_page())
    return 0
