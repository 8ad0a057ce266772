"""Contracts that break without any injection: always, mostly, or now and then."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.report.notes import Notes
from chaosagent.report.page import Cell, Page, bad, faint, notice
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity
from chaosagent.study.chance.nominal_share import NominalShare
from chaosagent.study.result import SearchResult, StudyResult

ROWS_MAX = 50
CHARACTERS_MAX = 400


def report_nominal_violations(page: Page, result: StudyResult, notes: Notes) -> None:
    """Say which contracts break without any fault, and how often where that is by chance.

    Args:
        page: Where to say it.
        result: Of the study.
        notes: What single trials told.
    """
    broken = [search for search in result.searches if search.violated_nominally]
    rare = [search for search in result.searches if _is_rare(search)]
    if broken:
        page.gap().line(
            bad(f"Broken without any fault: {quantity(len(broken), 'search', 'searches')}"),
            ", so no fault was looked for there. Fix the target, or the contract.",
        )
        _table(page, broken, notes)
    if rare:
        page.gap().line(
            bad(f"Broken without any fault, by chance: {quantity(len(rare), 'search', 'searches')}"),
            ". Faults were looked for all the same, and count where they make it likelier.",
        )
        _table(page, rare, notes)


def _is_rare(search: SearchResult) -> bool:
    return search.certificate.broken_anyway is not None and not search.violated_nominally


def _table(page: Page, searches: Sequence[SearchResult], notes: Notes) -> None:
    by_chance = any(search.certificate.broken_anyway is not None for search in searches)
    columns = ("contract", "task", "seed", *["how often"] * by_chance, "broken at", "reason")
    page.table(columns, [_row(search, notes, by_chance=by_chance) for search in searches[:ROWS_MAX]])
    if len(searches) > ROWS_MAX:
        page.line(faint(f"... {len(searches) - ROWS_MAX} more"), indent=2)


def _row(search: SearchResult, notes: Notes, *, by_chance: bool) -> Sequence[Cell]:
    violation = notes.nominal_violation(search)
    where, reason = "-", "-"
    if violation is not None:
        where = f"{violation.place}{f' by {violation.agent}' if violation.agent else ''}"
        reason = printable(violation.reason, characters_max=CHARACTERS_MAX)
        if violation.crashed_at:
            reason += f" (at {printable(violation.crashed_at, characters_max=CHARACTERS_MAX)})"
    share = search.certificate.broken_anyway
    often: list[Cell] = [notice("-" if share is None else str(share))] if by_chance else []
    return (search.contract, search.task_id, str(search.seed), *often, where, reason)


def nominal_json(share: NominalShare | None) -> Plain:
    """Return how often a contract breaks without injections as plain data."""
    if share is None:
        return None
    return {
        "violations": share.violations,
        "runs": share.runs,
        "interval": list(share.interval),
        "worlds_violated": share.worlds_violated,
        "worlds": share.worlds,
    }
