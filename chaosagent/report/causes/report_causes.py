"""Tells the causes of what a study found, in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chaosagent.report.causes.cause import Cause, causes_of, finding_of
from chaosagent.report.page import Cell, Page, Span, Style, faint, notice, strong
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity
from chaosagent.study.counterexample import Counterexample

ROWS_MAX = 10
HEADLINE_MAX = 120
CHEAPEST = "what the cheapest run does"


def causes_in(counterexamples: Iterable[Counterexample], *, has_secrets: bool) -> list[Cause]:
    """Return the causes of what a study found, cheapest first.

    Args:
        counterexamples: Of all searches.
        has_secrets: The target declares secrets; see `finding_of`.
    """
    return causes_of(finding_of(found, has_secrets=has_secrets) for found in counterexamples)


def report_causes(page: Page, causes: Sequence[Cause]) -> None:
    """List causes, and the usual fix of each known pattern once; nothing where the list would repeat another.

    Args:
        page: Where to say it.
        causes: Of all that was found, cheapest first.
    """
    total = sum(len(cause.findings) for cause in causes)
    patterns = {cause.pattern.id: cause.pattern for cause in causes if cause.pattern is not None}
    if len(causes) < total:
        page.heading(f"{quantity(len(causes), 'cause').capitalize()} of {total} counterexamples")
        page.table(("cost", "counterexamples", CHEAPEST, "known pattern"), map(_row, causes[:ROWS_MAX]))
        if len(causes) > ROWS_MAX:
            page.line(faint(f"... {len(causes) - ROWS_MAX} more (--json lists them)"), indent=2)
    if patterns:
        page.gap()
    for pattern in patterns.values():
        more = faint(f" More: {pattern.command}")
        page.line(notice("Known pattern: "), strong(pattern.name), f". {pattern.fix}", more, indent=2)


def _row(cause: Cause) -> Sequence[Cell]:
    pattern: Cell = faint("-") if cause.pattern is None else cause.pattern.name
    return (f"{cause.lead.cost:g}", str(len(cause.findings)), headline_cell(cause, Style.BAD), pattern)


def headline_cell(cause: Cause, style: Style = Style.PLAIN) -> Cell:
    """Return what the cheapest run of a cause does, and how many others do something else."""
    headline = Span(printable(cause.headline, characters_max=HEADLINE_MAX), style)
    return (headline, faint(f" ({otherwise(cause)})")) if cause.others else headline


def otherwise(cause: Cause) -> str:
    """Return how many runs of a cause do something else than the lead; empty where none does."""
    count = sum(number for _, number in cause.others)
    return f"{quantity(count, 'other run does', 'other runs do')} something else" if count else ""
