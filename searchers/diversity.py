"""Many unlike counterexamples instead of one: breeds from an archive with a place for each kind of failure and cost.

The natural searcher where all minimal counterexamples are wanted: a weakness found early takes no room from others, as
each kind of failure keeps its best schedule, and every kind is bred from.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Annotated

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import INJECTIONS_MAX, Schedule
from chaosagent.searchers.drawing.searcher import DrawingSearcher
from chaosagent.searchers.drawing.uniform import drawn
from chaosagent.searchers.drawing.variation import Variation
from chaosagent.searchers.learning.archive import Archive
from chaosagent.searchers.seen.points import Candidate
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import Within

OFFSPRING_MAX = 40
"""How many schedules are bred until one is new."""

DRAWS_MAX = 1_000
"""How many uniform draws bring nothing new before the searcher has finished, until a run shows more."""


class DiversitySearcher(DrawingSearcher):
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

    name = "diversity"

    def __init__(
        self,
        problem: Problem,
        *,
        cost_levels: Annotated[int, Within(1, 1_000)] = 8,
        uniform: Annotated[float, Within(0.0, 1.0)] = 0.2,
        crossover: Annotated[float, Within(0.0, 1.0)] = 0.3,
        injections_max: Annotated[int, Within(1, INJECTIONS_MAX)] = 4,
    ) -> None:
        super().__init__(problem)
        self._uniform = uniform
        self._crossover = crossover
        self._injections_max = injections_max
        self.archive = Archive(problem, cost_levels)
        self._variation = Variation(self._pool)

    def _learn(self, evaluation: Evaluation, fresh: Sequence[Candidate]) -> None:
        del fresh
        if evaluation.status is not Status.ERROR:
            self.archive.put(evaluation)

    def _draws(self, rng: random.Random) -> Iterator[Schedule]:
        for _ in range(OFFSPRING_MAX if len(self.archive) and rng.random() >= self._uniform else 0):
            yield self._bred(rng)
        for _ in range(DRAWS_MAX):
            yield drawn(self._pool, rng, self._injections_max)

    def _bred(self, rng: random.Random) -> Schedule:
        parent = self.archive.parent(rng)
        injections = list(parent)
        if rng.random() < self._crossover:
            injections = self._variation.crossed(parent, self.archive.parent(rng), rng)
        return self._variation.repaired(self._variation.mutated(injections, rng), self._pool.ceiling, rng)
