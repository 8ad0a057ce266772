"""The violations that a search found: the cheapest one, or all minimal ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import attrgetter

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.chance.racing import UnconfirmedViolation
from chaosagent.study.counterexample import Signature
from chaosagent.study.plan import Plan
from chaosagent.study.result import AboveBudget
from chaosagent.study.shrinking.minimise import Shrinker, violates


class Violations:
    """The violations of one search.

    Args:
        plan: Of the study.
        contract: Id of what is to be broken.
        shrinker: Reduces the violations of the search.
        instability_of: Says how likely two fresh runs of a schedule differ, in [0, 1]; of two violations that are
            equally dear the one that varies less is kept (Instab of Eq. 9).
        signature_of: Says what kind of failure a violation is; asked where the plan wants a number of them.

    Attributes:
        best: The cheapest violation, `None` while there is none.
        best_cost: What it costs; infinite while there is none.
        satisfied: As many kinds of failure are known as the plan wants.
        doubtful: Violations that fresh runs have not repeated, so they are no counterexamples.
        unshown: How many there was no time to run once more; they are no counterexamples either.
    """

    def __init__(
        self,
        plan: Plan,
        contract: str,
        shrinker: Shrinker,
        instability_of: Callable[[Schedule], float],
        signature_of: Callable[[Schedule], Signature],
    ) -> None:
        self._plan, self._contract, self._shrinker = plan, contract, shrinker
        self._instability_of, self._signature_of = instability_of, signature_of
        self.best: Evaluation | None = None
        self.best_cost = math.inf
        self.satisfied = False
        self.doubtful: list[UnconfirmedViolation] = []
        self.unshown = 0
        self._above: AboveBudget | None = None
        self._signatures: dict[Schedule, Signature] = {}
        self._changes_counted = 0

    def shrink_with(self, shrinker: Shrinker) -> None:
        """Take the minimal violations from another shrinker from now on; what was found stays."""
        for minimal in self._shrinker.minimal if self._plan.wants_several else ():
            shrinker.keep(minimal)
        self._shrinker, self._changes_counted = shrinker, 0

    def keep_best(self, evaluation: Evaluation) -> None:
        """Take a run as the best one if it is a cheaper violation within the budget, or as dear and varies less."""
        if violates(evaluation, self._contract):
            cost = self._cost(evaluation)
            if not self._affordable(cost):
                seen = AboveBudget(cost, evaluation.effective)
                self._above = seen if self._above is None else min(self._above, seen, key=_cost)
            elif cost < self.best_cost or self._is_stabler(evaluation, cost):
                self.best, self.best_cost = evaluation, cost

    @property
    def above_budget(self) -> AboveBudget | None:
        """The cheapest violation seen above the budget; `None` where one was found within."""
        return self._above if self.best is None else None

    def _is_stabler(self, evaluation: Evaluation, cost: float) -> bool:
        if self.best is None or cost > self.best_cost or self.violated_nominally:
            return False
        return self._instability_of(evaluation.effective) < self._instability_of(self.best.effective)

    def keep_minimal(self, evaluation: Evaluation) -> None:
        """Take a violation that was reduced to its end."""
        self.keep_best(evaluation)
        self._shrinker.keep(evaluation)

    def drop(self, violation: Evaluation, doubtful: UnconfirmedViolation) -> None:
        """Drop a violation that fresh runs have not repeated; what else was found stays."""
        self.doubtful.append(doubtful)
        if self.best is not None and self.best.effective == violation.effective:
            self.best, self.best_cost = None, math.inf

    def count_kinds(self) -> None:
        """Count the kinds of failure among what is minimal, if that has changed; see `satisfied`."""
        changes = self._shrinker.changes
        if self._plan.signatures is None or changes == self._changes_counted:
            return
        self._changes_counted = changes
        known = [found.effective for found in self.minimal]
        for schedule in known:
            if schedule not in self._signatures:
                self._signatures[schedule] = self._signature_of(schedule)
        self.satisfied = len({self._signatures[schedule] for schedule in known}) >= self._plan.signatures

    @property
    def violated_nominally(self) -> bool:
        """Whether the run without injections breaks the contract already; then there is nothing to search."""
        return self.best is not None and self.best.schedule == EMPTY

    @property
    def cost_wanted(self) -> float:
        """Violations are wanted up to this cost."""
        return math.inf if self._plan.wants_several else self.best_cost

    @property
    def count(self) -> int:
        """How many counterexamples are known: of one that is wanted, or of all."""
        if self.best is None or self.violated_nominally:
            return 0
        return max(1, len(self.minimal)) if self._plan.wants_several else 1

    @property
    def minimal(self) -> list[Evaluation]:
        """The runs of the minimal violations within the budget that are known, cheapest first."""
        return self._cheapest_first(found for found in self._shrinker.minimal if self._affordable(self._cost(found)))

    @property
    def unreduced(self) -> list[Evaluation]:
        """Violations that were not reduced to their end, and hold no minimal one; they may be above the budget."""
        return self._shrinker.left

    def proved_minimal(self, lower_bound: float) -> list[Evaluation]:
        """Return those of them that are minimal as far as the rules tell, as all cheaper ones are known.

        Args:
            lower_bound: All violations cheaper than this are known.

        Returns:
            The cheapest first.
        """
        reach = min(lower_bound, self._plan.budget) + COST_TOLERANCE
        return self._cheapest_first(found for found in self.unreduced if self._cost(found) <= reach)

    def known_below(self, lower_bound: float) -> float:
        """Return below which cost all minimal violations are known, and reduced; see `proved_minimal`."""
        return min([lower_bound, *map(self._cost, self.unreduced)])

    def _cheapest_first(self, violations: Iterable[Evaluation]) -> list[Evaluation]:
        return sorted(violations, key=lambda found: (self._cost(found), len(found.effective), str(found.effective)))

    def _cost(self, evaluation: Evaluation) -> float:
        return evaluation.effective.declared_cost(self._plan.space.model)

    def _affordable(self, cost: float) -> bool:
        return cost <= self._plan.budget + COST_TOLERANCE


_cost = attrgetter("cost")
