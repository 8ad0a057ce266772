"""Many unlike counterexamples instead of one: breeds from an archive with a place for each kind of failure and cost.

The natural searcher where all minimal counterexamples are wanted: a weakness found early takes no room from others, as
each kind of failure keeps its best schedule, and every kind is bred from.
"""

from __future__ import annotations

import random

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, Schedule
from chaosagent.searchers.archive import Archive
from chaosagent.searchers.pool import Pool
from chaosagent.searchers.random import drawn
from chaosagent.searchers.settings import number, whole
from chaosagent.searchers.told import Told
from chaosagent.searchers.variation import Variation
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Standing

OFFSPRING_MAX = 40
"""How many schedules are bred until one is new."""

DRAWS_MAX = 1_000
"""How many uniform draws bring nothing new before the searcher has finished, until a run shows more."""


class DiversitySearcher:
    """Mutates and crosses the best schedules of all kinds, with some drawn uniformly among them.

    Args:
        problem: What is searched.
        cost_levels: Into how many parts the budget is divided: schedules of one kind that cost about the same compete,
            1 to 1 000.
        uniform: Share of schedules drawn uniformly, 0 to 1.
        crossover: Share of the others that have two parents, 0 to 1.
        injections_max: Most injections of a schedule drawn uniformly, those not counted that others need.

    Attributes:
        archive: The best schedule of each kind.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        cost_levels: int = 8,
        uniform: float = 0.2,
        crossover: float = 0.3,
        injections_max: int = 4,
    ) -> None:
        self._problem = problem
        self._uniform = number("diversity", "uniform", uniform, 0.0, 1.0)
        self._crossover = number("diversity", "crossover", crossover, 0.0, 1.0)
        self._injections_max = whole("diversity", "injections_max", injections_max, 1, INJECTIONS_MAX)
        self.archive = Archive(problem, whole("diversity", "cost_levels", cost_levels, 1, 1_000))
        self._pool = Pool(problem)
        self._variation = Variation(self._pool)
        self._told = Told()
        self._exhausted = False

    def ask(self, count: int) -> list[Proposal]:
        told = self._told
        if EMPTY not in told:
            return [told.propose(EMPTY)] if count > 0 and EMPTY not in told.out else []
        proposals: list[Proposal] = []
        while len(proposals) < count and not self._exhausted:
            new = self._new()
            if new is None:
                self._exhausted = True  # until a run shows more
                break
            proposals.append(told.propose(new))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        if not self._told.take(evaluation) or evaluation.status is Status.ERROR:
            return
        fresh = self._pool.learn(evaluation)
        self._exhausted = self._exhausted and not fresh
        self.archive.put(evaluation)

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and not self._told.out and (self._exhausted or not self._pool.candidates)

    @property
    def standing(self) -> Standing:
        return Standing()

    def audit(self, count: int) -> list[Proposal]:
        del count  # it prunes nothing
        return []

    def _new(self) -> Schedule | None:
        """Return a schedule that was not asked before, `None` when many draws brought none."""
        pool, told = self._pool, self._told
        if pool.cheapest > pool.ceiling:
            return None
        rng = derive(self._problem.search_seed, "diversity", self._problem.contract, len(told) + len(told.out))
        bred = OFFSPRING_MAX if len(self.archive) and rng.random() >= self._uniform else 0
        for attempt in range(bred + DRAWS_MAX):
            new = self._bred(rng) if attempt < bred else drawn(pool, rng, self._injections_max)
            if new != EMPTY and not told.is_taken(new) and not pool.is_known(new):
                return new
        return None

    def _bred(self, rng: random.Random) -> Schedule:
        parent = self.archive.parent(rng)
        injections = list(parent)
        if rng.random() < self._crossover:
            injections = self._variation.crossed(parent, self.archive.parent(rng), rng)
        return self._variation.repaired(self._variation.mutated(injections, rng), self._pool.ceiling, rng)
