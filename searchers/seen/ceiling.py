"""What a schedule may cost to be of use, as the violations that are known lower it."""

from __future__ import annotations

from collections.abc import Iterable

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import violates


class Ceiling:
    """The violations that a search knows, and what they leave to be looked for.

    Args:
        problem: What is searched.

    Attributes:
        best: What the cheapest violation known costs; infinite when there is none.
        violations: The minimal ones among those known.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.best = float("inf")
        self.violations = MinimalSets(problem.space.model)

    def learn(self, evaluation: Evaluation) -> bool:
        """Take over what a run has shown; return whether it breaks the contract fairly."""
        if not violates(evaluation, self._problem.contract):
            return False
        self.best = min(self.best, evaluation.effective.declared_cost(self._problem.space.model))
        self.violations.add(evaluation.effective)
        return True

    @property
    def cost(self) -> float:
        """The most that a schedule may cost: the budget, or less than the cheapest violation known.

        Where all minimal counterexamples are wanted it is the budget.
        """
        within = self._problem.budget + COST_TOLERANCE
        return within if self._problem.all_minimal else min(within, self.best - COST_TOLERANCE)

    def holds_known(self, injections: Iterable[Injection]) -> bool:
        """Whether a schedule holds a violation that is known already."""
        return self.violations.held_by(injections)
