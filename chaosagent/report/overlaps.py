"""Schedules that break several contracts: one weakness and not many."""

from __future__ import annotations

from collections.abc import Iterable

from chaosagent.report.page import Cell, Page, bad, faint, strong
from chaosagent.report.story import counted
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.vocabulary import Verdict

ROWS_MAX = 20


def broken_by(found: Counterexample) -> tuple[str, ...]:
    """Return the contracts that the run of a counterexample breaks, in the order of its verdicts."""
    verdicts = found.trace.verdicts
    return tuple(one.contract for one in verdicts if one.verdict is Verdict.VIOLATED and not one.unfair)


def broken_elsewhere(result: StudyResult) -> dict[str, int]:
    """Return for each contract in how many (task, seed) only what was found for other contracts breaks it.

    Empty for stochastic targets: what breaks another contract there was not confirmed by fresh runs.
    """
    if result.nature.stochastic:
        return {}
    own = {(one.contract, one.task_id, one.seed) for one in result.searches if _is_broken(one)}
    seen = {(contract, one.task_id, one.seed) for one in result.counterexamples for contract in broken_by(one)}
    counts: dict[str, int] = {}
    for contract, _, _ in sorted(seen - own):
        counts[contract] = counts.get(contract, 0) + 1
    return counts


def _is_broken(search: SearchResult) -> bool:
    return search.counterexample is not None or search.violated_nominally


def broken_cell(own: int, elsewhere: int) -> Cell:
    """Return in how many searches a contract is broken, and in how many more by what was found for other contracts."""
    if not elsewhere:
        return bad(str(own)) if own else faint("-")
    more = bad(f"{elsewhere} elsewhere")
    return [bad(str(own)), ", ", more] if own else more


def tell_overlaps(page: Page, result: StudyResult) -> None:
    """Say how many different schedules there are, and list those that break several contracts."""
    groups = contracts_by_schedule(result.counterexamples if not result.nature.stochastic else ())
    several = {text: contracts for text, contracts in groups.items() if len(contracts) > 1}
    if not several:
        return
    broken = dict.fromkeys(contract for contracts in groups.values() for contract in contracts)
    page.line(
        strong(f"{counted(len(groups), 'different schedule').capitalize()}, {counted(len(broken), 'contract')}: "),
        "one schedule may break several",
        indent=2,
    )
    rows = []
    for text, contracts in list(several.items())[:ROWS_MAX]:
        lines = text.split("\n")
        rows.append((", ".join(contracts), lines[0]))
        rows.extend(("", line) for line in lines[1:])
    page.table(("together", "schedule"), rows)
    if len(several) > ROWS_MAX:
        page.line(faint(f"... {len(several) - ROWS_MAX} more (--json lists them)"), indent=2)


def contracts_by_schedule(found: Iterable[Counterexample]) -> dict[str, tuple[str, ...]]:
    """Return the contracts that each schedule breaks, in whatever task and seed, by its text."""
    groups: dict[str, dict[str, None]] = {}
    for one in found:
        groups.setdefault(one.schedule.text, {}).update(dict.fromkeys(broken_by(one)))
    return {text: tuple(contracts) for text, contracts in groups.items()}
