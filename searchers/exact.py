"""Makes the exact search with the rules that a study has switched on."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.proof.bisection import BisectingSearcher, Certifying
from chaosagent.searchers.proof.intervals import IntervalSpace
from chaosagent.searchers.proof.lineage import RULE as LINEAGE
from chaosagent.searchers.proof.lineage import LineageSearcher
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.study.searcher import Problem


class SearchOfIntervals(ExactSearcher):
    """The exact search, in the order of what the intervals of schedules may cost at least."""

    def cost_of(self, schedule: Schedule) -> float:
        """Return what a schedule costs in the order of the search."""
        space = self._problem.space
        return space.floor(schedule) if isinstance(space, IntervalSpace) else super().cost_of(schedule)


def exact(
    problem: Problem,
    *,
    r1: bool = True,
    r2: bool = True,
    r3: bool = True,
    monotone: bool = False,
    lineage: bool = False,
) -> Certifying:
    """Propose schedules in the order of their cost until the first violation, or until the budget is exhausted.

    Args:
        problem: What is searched.
        r1: Use rule R1.
        r2: Use rule R2.
        r3: Use rule R3; without fingerprints it does nothing.
        monotone: Rely on the operators that declare a parameter `monotone`; not used where every minimal counterexample
            is wanted.
        lineage: Rely on the provenance of a target that declares it complete; only for contracts that judge nothing but
            the outcome.
    """
    used = {"R1": r1, "R2": r2, "R3": r3}
    used[LINEAGE] = lineage and problem.outcome_only
    if not monotone or problem.all_minimal:
        return _plain(problem, used)
    return BisectingSearcher(problem, used, _plain)


def _plain(problem: Problem, rules: Mapping[str, bool]) -> Certifying:
    searcher = SearchOfIntervals(problem, r1=rules["R1"], r2=rules["R2"], r3=rules["R3"])
    return LineageSearcher(problem, searcher) if rules.get(LINEAGE) else searcher
