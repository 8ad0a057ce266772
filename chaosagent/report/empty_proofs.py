"""Proofs that say nothing, or less than was meant."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.faults.space import Space
from chaosagent.report.notes import Notes
from chaosagent.report.page import Page, notice
from chaosagent.report.story import counted
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult


def tell_empty_proofs(page: Page, plan: Plan, result: StudyResult, notes: Notes, *, has_errors: bool) -> None:
    """Warn of proofs that say nothing, or less than was meant.

    Args:
        page: Where it is told.
        plan: What was asked for.
        result: What came of it.
        notes: What single runs told.
        has_errors: Whether runs ended as errors.
    """
    unmatched, idle = plan.space.unmatched, plan.space.idle
    if unmatched:
        page.gap().line(
            notice("Nothing that was called matches "),
            "; ".join(unmatched)
            + ". The proof does not cover such places: correct the spelling, or remove the pattern.",
        )
    if idle:
        page.gap().line(
            notice("Nothing that was called can take "),
            f"{'; '.join(idle)}. The proof does not cover {_operators(idle)}: give the target such a door, or do not "
            "name the operator.",
        )
    searches = result.searches
    empty = [search for search in searches if search.certificate.safe and not search.injectable]
    if empty:
        page.gap().line(
            notice(f"In {counted(len(empty), 'search', 'searches')} nothing could be injected: "), _why_empty(plan)
        )
    ran = result.executions and not has_errors
    if searches and ran and not any(search.effect_count for search in searches):
        page.gap().line(
            notice("No task commits an effect in its run without faults: "),
            "most default contracts compare effects. "
            + (
                "Its doors declare `effects`, so that is right if these tasks should change nothing."
                if notes.declares_effects
                else "If the target changes its world, declare `effects` at its doors."
            ),
        )


def gaps_of(space: Space) -> str:
    """Say which parts of the study file could not be tested, so that the exit code is 3; empty if all were.

    Args:
        space: After the study.
    """
    gaps = []
    if space.idle:
        number = "was" if len(space.idle) == 1 else "were"
        gaps.append(f"{_operators(space.idle)} {number} never injected")
    if space.unmatched:
        gaps.append(f"a pattern of {_operators(space.unmatched)} matched nothing")
    return f" But {' and '.join(gaps)}, so the exit code is 3." if gaps else ""


def _operators(told: Sequence[str]) -> str:
    """Return the operators of entries of `Space.idle` or `Space.unmatched`."""
    names = list(dict.fromkeys(one.partition(":")[0] for one in told))
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _why_empty(plan: Plan) -> str:
    space, budget = plan.space, plan.budget
    if not space.interfaces:
        return (
            "the target calls no door, so that nothing is proved. Put its models and tools behind doors of its run, by "
            "hand or with an adapter."
        )
    if space.cost_min > budget:
        return f"the cheapest fault costs {space.cost_min:g}, and the budget is {budget:g}. Raise the budget."
    return "nothing is proved there. Allow operators that fit the target's interfaces, or raise the budget."
