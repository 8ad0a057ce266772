"""A regression suite as a page for people and as plain data."""

from __future__ import annotations

from pathlib import Path

from chaosagent.api.suites.suite import Suite
from chaosagent.canonical import Plain
from chaosagent.report.page import Page, faint, strong
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity


def suite_page(suite: Suite, out: Path, *, explain: bool) -> Page:
    """Return what was chosen; with reasons, also what each record covers, and what need not be in the suite."""
    page = Page().line(
        strong(f"{quantity(len(suite.chosen), 'record').capitalize()} in {out}"),
        f": {len(suite.new)} new, of {len(suite.chosen) + len(suite.others)} in all",
    )
    rows = [
        (
            f"{one.record.cost:g}",
            one.record.contract,
            one.record.task.id,
            "kept" if one.is_kept else "new",
            one.path.name,
        )
        for one in suite.chosen
    ]
    page.table(("cost", "contract", "task", "", "record"), rows)
    if explain:
        page.heading("Why each record is in the suite")
        for one in suite.chosen:
            others = frozenset().union(*(other.covers for other in suite.chosen if other is not one))
            alone = sorted(map(str, one.covers - others))
            told = ", ".join(alone) if alone else "it was there already" if one.is_kept else "nothing alone"
            page.line(f"{one.path.name}: only it covers {told}" if alone else f"{one.path.name}: {told}", indent=2)
        page.heading("Causes")
        for number, headline in suite.headlines.items():
            page.line(f"{number}: {printable(headline)}", indent=2)
        if suite.others:
            page.heading("Not in the suite, as others cover the same")
            for one in suite.others:
                page.line(one.path.name, indent=2)
    page.gap().line(faint("Each new record is expected to be violated: known and open. `chaosagent replay --promote`"))
    return page.line(faint("says so once a fix holds; a failure that comes back then turns a build red."))


def suite_json(suite: Suite, out: Path) -> dict[str, Plain]:
    """Return what was chosen as plain data."""
    return {
        "out": str(out),
        "records": [
            {
                "path": str(out / one.path.name),
                "id": one.record.id,
                "contract": one.record.contract,
                "cost": one.record.cost,
                "new": not one.is_kept,
                "covers": list[Plain](sorted(map(str, one.covers))),
            }
            for one in suite.chosen
        ],
        "left_out": [one.record.id for one in suite.others],
        "causes": {str(number): headline for number, headline in suite.headlines.items()},
    }
