"""A regression suite as a page for people and as plain data."""

from __future__ import annotations

from pathlib import Path

from chaosagent.api.suites.suite import Suite
from chaosagent.canonical import Plain
from chaosagent.replays.record import ReplayRecord
from chaosagent.report.page import Page, faint, notice, strong
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity

NO_FAULTS = "(no faults)"
"""In the place of a contract, of a run without faults."""


def suite_page(suite: Suite, out: Path, *, explain: bool) -> Page:
    """Return what was chosen; with reasons, also what each record covers, and what need not be in the suite."""
    count = len(suite.chosen) + len(suite.nominal)
    page = Page().line(
        strong(f"{quantity(count, 'record').capitalize()} in {out}"),
        f": {len(suite.new) + len(suite.nominal)} new, of {count + len(suite.others)} in all",
    )
    rows = [
        (
            f"{one.record.cost:g}",
            one.record.contract or NO_FAULTS,
            one.record.task.id,
            "kept" if one.is_kept else "new",
            one.path.name,
        )
        for one in suite.chosen
    ]
    rows.extend(("0", NO_FAULTS, one.task.id, "new", one.file_name) for one in suite.nominal)
    page.table(("cost", "contract", "task", "", "record"), rows)
    if explain:
        _explain(page, suite)
    for remark in suite.remarks:
        page.gap().line(notice("Remark: "), printable(remark))
    if not suite.new:
        return page
    page.gap().line(faint("Each new counterexample is expected to be violated: known and open. `replay --promote`"))
    return page.line(faint("says so once a fix holds; a failure that comes back then turns a build red."))


def _explain(page: Page, suite: Suite) -> None:
    page.heading("Why each record is in the suite")
    for one in suite.chosen:
        if one.record.is_nominal:
            page.line(f"{one.path.name}: {_how_it_ends(one.record)}", indent=2)
            continue
        others = frozenset().union(*(other.covers for other in suite.chosen if other is not one))
        alone = sorted(map(str, one.covers - others))
        told = f"only it covers {', '.join(alone)}" if alone else "nothing alone"
        page.line(f"{one.path.name}: {told if alone or not one.is_kept else 'it was there already'}", indent=2)
    for record in suite.nominal:
        page.line(f"{record.file_name}: {_how_it_ends(record)}", indent=2)
    page.heading("Causes")
    for number, headline in suite.headlines.items():
        page.line(f"{number}: {printable(headline)}", indent=2)
    if suite.others:
        page.heading("Not in the suite, as others cover the same")
        for other in suite.others:
            page.line(other.path.name, indent=2)


def _how_it_ends(record: ReplayRecord) -> str:
    category = f", of category {printable(record.task.category)}" if record.task.category else ""
    return f"the task {record.task.id}{category}, which is to end without faults as it did"


def suite_json(suite: Suite, out: Path) -> dict[str, Plain]:
    """Return what was chosen as plain data."""
    return {
        "out": str(out),
        "records": [
            {
                "path": str(out / one.path.name),
                "id": one.record.id,
                "contract": one.record.contract or None,
                "cost": one.record.cost,
                "new": not one.is_kept,
                "covers": list[Plain](sorted(map(str, one.covers))),
            }
            for one in suite.chosen
        ],
        "without_faults": [
            {"path": str(out / one.file_name), "id": one.id, "task": one.task.id, "category": one.task.category}
            for one in suite.nominal
        ],
        "remarks": list(suite.remarks),
        "left_out": [one.record.id for one in suite.others],
        "causes": {str(number): headline for number, headline in suite.headlines.items()},
    }
