"""Proofs that say nothing, or less than was meant."""

from __future__ import annotations

from chaosagent.report.page import Page, notice
from chaosagent.report.story import counted
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult


def tell_empty_proofs(page: Page, plan: Plan, result: StudyResult, *, has_errors: bool) -> None:
    """Warn of proofs that say nothing, or less than was meant.

    Args:
        page: Where it is told.
        plan: What was asked for.
        result: What came of it.
        has_errors: Whether runs ended as errors.
    """
    unmatched, idle = plan.space.unmatched, plan.space.idle
    if unmatched:
        page.gap().line(
            notice("Nothing that was called matches "),
            "; ".join(unmatched) + ". What is proved says nothing of them: correct their spelling, or remove them.",
        )
    if idle:
        page.gap().line(
            notice("Nothing that was called can take "),
            "; ".join(idle) + ". What is proved says nothing of them: give the target such a door, or remove them.",
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
            "most default contracts compare effects. If the target changes its world, declare `effects` at its doors.",
        )


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
