"""`chaosagent list`: what there is to use."""

from __future__ import annotations

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

KINDS = ("operators", "searchers", "contracts", "targets", "patterns")


@click.command("list")
@click.argument("kind", metavar="KIND")
@click.argument("name", metavar="[NAME]", required=False)
@json_flag
def list_kind(kind: str, name: str | None, *, json: bool) -> int:
    """List operators, searchers, contracts, targets, or known patterns of failure.

    KIND is operators, searchers, contracts, targets or patterns; NAME limits the list to one entry. Entries say what
    can be set, or the usual fix. Plug-ins that failed to load are named.

    \b
    Examples:
      chaosagent list operators
      chaosagent list contracts --json
      chaosagent list patterns retry-without-key
    """
    from chaosagent.errors import UnknownNameError
    from chaosagent.report.catalogues import CATALOGUES

    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS, "chaosagent list")
    with output.stdout_for_answers():
        catalogue = CATALOGUES[kind]()
    if name is not None:
        catalogue = catalogue.only(name)
    if json:
        output.answer_json(catalogue.to_json())
    else:
        output.answer(catalogue.to_page())
    return 0
