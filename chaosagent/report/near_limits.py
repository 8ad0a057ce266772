"""Searches in which rule R3 was switched off, as a run came too near to one of its limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chaosagent.limits import RunLimits
from chaosagent.report.notes import Notes
from chaosagent.report.page import Page, notice
from chaosagent.report.story import counted
from chaosagent.searchers.proof.limits import spent_max_of
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.searcher import Problem


def tell_near_limits(page: Page, plan: Plan, result: StudyResult, notes: Notes) -> None:
    """Say in how many searches rule R3 was switched off, and which limit would have to be raised.

    Without checkpoints there is nothing to merge, so nothing is said.

    Args:
        page: Where to say it.
        plan: What was to be done.
        result: What came of it.
        notes: What single runs told.
    """
    without = [search for search in result.searches if search.certificate.near_limit]
    if not without or not notes.has_checkpoints:
        return
    share = max(search.certificate.near_limit for search in without)
    page.gap().line(
        notice(f"Rule R3 was switched off in {counted(len(without), 'search', 'searches')}: "),
        f"a run used {math.floor(100 * share)} % of {_limit(notes, share)}, and one that R3 leaves out could have "
        f"reached that limit. Without R3 a search takes more runs. {_remedy(plan, without, notes)}",
    )


def _limit(notes: Notes, share: float) -> str:
    """Return the key of the limit of which a run has used that share."""
    known = [key for key, most in notes.spent.items() if most >= share]
    return known[0] if known else "one of its limits"


def _remedy(plan: Plan, without: Sequence[SearchResult], notes: Notes) -> str:
    least = min(search.certificate.near_limit for search in without)
    keys = [key for key, most in notes.spent.items() if most >= least]
    raised = " and ".join(_raised(plan, key, notes.spent[key]) for key in keys)
    return f"To keep it, raise {raised or 'run.virtual_seconds, run.steps or run.turns'}."


def _raised(plan: Plan, key: str, share: float) -> str:
    """Return a limit and the value at which the same runs would not come too near to it."""
    limit = limit_value(key, plan.run_limits)
    if share >= 1.0 or limit is None:
        return key  # how much more such a run would need is not known
    share_max = spent_max_of(Problem("", 0, plan.space, plan.budget, 0))
    return f"{key} to {_rounded_up(share * limit / share_max)}"


def limit_value(key: str, limits: RunLimits) -> float | None:
    """Return the value of a limit of one run by its key in study files; `None` where there is no such key."""
    return {
        "run.steps": limits.steps_max,
        "run.turns": limits.turns_max,
        "run.turns_total": limits.turns_total_max,
        "run.virtual_seconds": limits.virtual_seconds_max,
    }.get(key)


def _rounded_up(value: float) -> int:
    """Return the next number above with two digits and zeros."""
    unit = int(10 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1))
    return (math.floor(value / unit) + 1) * unit
