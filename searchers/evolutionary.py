"""Evolution of schedules with two objectives, margin and cost: NSGA-II in a steady state.

Selection is DEAP's; variation is made for schedules (`variation.py`). What was told enters the population when it was
told, and new schedules are made of whatever the population is then, so no generation is waited for. Individuals age:
where the margin says nothing the cheap ones would rule for ever, and nothing with many injections would be tried.

Sources: Deb, Pratap, Agarwal and Meyarivan 2002 (NSGA-II); Real, Aggarwal, Huang and Le 2019 (ageing).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from chaosagent.extras import require
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, Schedule
from chaosagent.searchers.drawing.searcher import DrawingSearcher
from chaosagent.searchers.drawing.uniform import draw_schedule
from chaosagent.searchers.drawing.variation import Variation
from chaosagent.searchers.learning.front import Front, Point
from chaosagent.searchers.seen.points import Candidate
from chaosagent.searchers.seen.pool import margin_of
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import Within

if TYPE_CHECKING:
    from deap.base import Fitness

POPULATION_MAX = 1_000
LIFETIME_MAX = 1_000_000
STRETCH_MAX = 100.0

DRAWS_MAX = 40
"""How many offspring are made until one is new; when none is, as many schedules are drawn uniformly."""

FROM_FRONT = 1 / 5
"""Share of the parents that are taken from the Pareto front of everything that was run."""


@dataclass(slots=True, eq=False)
class Individual:
    """What landed in a run, as selection sees it.

    Attributes:
        point: What landed, its margin and its cost.
        fitness: The same for DEAP.
        born: How many runs were told before.
    """

    point: Point
    fitness: Fitness
    born: int


class EvolutionarySearcher(DrawingSearcher):
    """Breeds schedules that come close to a violation and cost little.

    Args:
        problem: What is searched.
        population: How many individuals survive a selection.
        crossover: Share of the offspring that have two parents; half of these are mutated, too, and all others are.
        lifetime: How many trials an individual stays at most, unless it is on the Pareto front.
        stretch: What offspring may cost, as a multiple of what is of use: dearer ones are shrunk when they violate.
        injections_max: Most injections of a schedule that is drawn and not bred, those not counted that others need.

    Raises:
        MissingExtraError: DEAP is not installed.
    """

    name = "evolutionary"

    def __init__(
        self,
        problem: Problem,
        *,
        population: Annotated[int, Within(4, POPULATION_MAX)] = 40,
        crossover: Annotated[float, Within(0.0, 1.0)] = 0.5,
        lifetime: Annotated[int, Within(1, LIFETIME_MAX)] = 200,
        stretch: Annotated[float, Within(1.0, STRETCH_MAX)] = 2.0,
        injections_max: Annotated[int, Within(1, INJECTIONS_MAX)] = 4,
    ) -> None:
        super().__init__(problem)
        self._size = population
        self._crossover = crossover
        self._lifetime = lifetime
        self._stretch = stretch
        self._injections_max = injections_max
        self._nsga2 = require("deap.tools", extra="search", needed_by="the searcher `evolutionary`").selNSGA2
        base = require("deap.base", extra="search", needed_by="the searcher `evolutionary`")
        self._fitness = type("MarginAndCost", (base.Fitness,), {"weights": (-1.0, -1.0)})
        self._variation = Variation(self._pool)
        self._individuals: dict[Schedule, Individual] = {}
        self._survivors: list[Individual] = []
        self.front = Front()

    def _learn(self, evaluation: Evaluation, fresh: Sequence[Candidate]) -> None:
        del fresh
        if evaluation.status is Status.ERROR:
            return
        landed = evaluation.effective
        point = Point(self._pool.cost_of(landed), margin_of(evaluation, self._problem.contract), landed)
        self.front.offer(point)
        if landed != EMPTY and landed not in self._individuals:
            fitness = self._fitness((point.margin, point.cost))
            self._individuals[landed] = Individual(point, fitness, len(self._told))
            if len(self._individuals) >= len(self._survivors) + max(1, self._size // 2):
                self._select()

    # ------------------------------------------------------------------ selection

    def _select(self) -> None:
        """Keep the best of those that are not too old."""
        oldest = len(self._told) - self._lifetime
        young = [one for one in self._individuals.values() if one.born > oldest or one.point in self.front]
        self._survivors = self._nsga2(young, self._size)
        self._individuals = {one.point.schedule: one for one in self._survivors}

    def _parent(self, rng: random.Random) -> Schedule:
        """Return the better of two survivors, or now and then one of the Pareto front."""
        if not self._survivors or rng.random() < FROM_FRONT:
            return self.front[rng.randrange(len(self.front))].schedule
        one, other = rng.choice(self._survivors), rng.choice(self._survivors)
        if other.fitness.dominates(one.fitness):
            return other.point.schedule
        crowded = one.fitness.crowding_dist < other.fitness.crowding_dist
        return (other if crowded and not one.fitness.dominates(other.fitness) else one).point.schedule

    # ------------------------------------------------------------------ offspring

    def _draws(self, rng: random.Random) -> Iterator[Schedule]:
        for _ in range(DRAWS_MAX if self._survivors else 0):
            yield self._offspring(rng)
        for _ in range(DRAWS_MAX if self._survivors else 2 * DRAWS_MAX):
            yield draw_schedule(self._pool, rng, self._injections_max)

    def _offspring(self, rng: random.Random) -> Schedule:
        one = self._parent(rng)
        injections = list(one)
        if rng.random() < self._crossover:
            injections = self._variation.crossed(one, self._parent(rng), rng)
            if rng.random() < 1 / 2:
                injections = self._variation.mutated(injections, rng)
        else:
            injections = self._variation.mutated(injections, rng)
        return self._variation.repaired(injections, self._stretch * self._pool.ceiling, rng)
