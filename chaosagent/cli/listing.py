"""`chaosagent list`: what there is to use."""

from __future__ import annotations

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

KINDS = ("operators", "searchers", "contracts", "targets")


@click.command("list")
@click.argument("kind", metavar="KIND")
@json_flag
def list_kind(kind: str, *, json: bool) -> int:
    """List operators, searchers, contracts or targets, with what can be set; plug-ins that failed to load are named.

    KIND is operators, searchers, contracts or targets.

    \b
    Examples:
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
