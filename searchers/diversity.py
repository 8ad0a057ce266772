"""Many unlike counterexamples instead of one: breeds from an archive with a place for each kind of failure and cost.

The natural searcher where all minimal counterexamples are wanted: a weakness found early takes no room from others, as
each kind of failure keeps its best schedule, and every kind is bred from.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import place_of
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, Schedule
from chaosagent.searchers.drawing.searcher import DrawingSearcher
from chaosagent.searchers.drawing.uniform import draw_schedule
from chaosagent.searchers.drawing.variation import Variation
from chaosagent.searchers.learning.scalar import scalar_of
from chaosagent.searchers.seen.points import Candidate
from chaosagent.searchers.seen.pool import Arm
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import Within
from chaosagent.study.shrinking.minimise import violates

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
            yield draw_schedule(self._pool, rng, self._injections_max)

    def _bred(self, rng: random.Random) -> Schedule:
        parent = self.archive.parent(rng)
        injections = list(parent)
        if rng.random() < self._crossover:
            injections = self._variation.crossed(parent, self.archive.parent(rng), rng)
        return self._variation.repaired(self._variation.mutated(injections, rng), self._pool.ceiling, rng)


class FailureSignature(NamedTuple):
    """How a run failed, or in which way it was disturbed.

    Attributes:
        violated: The contracts that it broke fairly, in their order.
        ending: How it ended.
        arms: Operator and interface of what landed, each once, sorted; where the run breaks nothing, of what landed
            last only, so that the kinds that are just on the way stay few.
    """

    violated: tuple[str, ...]
    ending: str
    arms: tuple[Arm, ...]


class Cell(NamedTuple):
    """A kind of schedule.

    Attributes:
        signature: What it does.
        cost_level: Which part of the budget it needs, from 0.
    """

    signature: FailureSignature
    cost_level: int


@dataclass(slots=True)
class Elite:
    """The best schedule of a cell.

    Attributes:
        cell: Whose.
        schedule: What landed.
        scalar: How good it is; the lower the better.
    """

    cell: Cell
    schedule: Schedule
    scalar: float


class Archive:
    """Keeps an elite for each cell.

    Args:
        problem: What is searched.
        cost_levels: Into how many parts the budget is divided.
    """

    def __init__(self, problem: Problem, cost_levels: int) -> None:
        self._problem, self._cost_levels = problem, cost_levels
        self._cells: dict[Cell, Elite] = {}
        self._elites: list[Elite] = []
        self._parents: list[Elite] = []

    def __len__(self) -> int:
        return len(self._elites)

    def __iter__(self) -> Iterator[Elite]:
        return iter(self._elites)

    def put(self, evaluation: Evaluation) -> bool:
        """Take a run's schedule, when something landed and it is better than what is known of its kind.

        Returns:
            Whether it was taken.
        """
        if not evaluation.effective:
            return False
        problem = self._problem
        spent = evaluation.effective.declared_cost(problem.space.model) / max(problem.budget, COST_TOLERANCE)
        cell = Cell(_signature(evaluation), min(self._cost_levels - 1, int(spent * self._cost_levels)))
        scalar = scalar_of(evaluation, problem.contract, problem.space.model)
        known = self._cells.get(cell)
        if known is None:
            self._cells[cell] = Elite(cell, evaluation.effective, scalar)
            self._elites.append(self._cells[cell])
            if self._problem.contract not in cell.signature.violated:
                self._parents.append(self._cells[cell])
            return True
        if (scalar, len(evaluation.effective)) >= (known.scalar, len(known.schedule)):
            return False
        known.schedule, known.scalar = evaluation.effective, scalar
        return True

    def parent(self, rng: random.Random) -> Schedule:
        """Return the better one of two schedules drawn uniformly; empty when there are none.

        Those that break the contract are left out: what is made of them mostly holds the same counterexample.
        """
        if not self._parents:
            return EMPTY
        one, other = rng.choice(self._parents), rng.choice(self._parents)
        return min(one, other, key=lambda elite: elite.scalar).schedule


def _signature(evaluation: Evaluation) -> FailureSignature:
    violated = tuple(verdict.contract for verdict in evaluation.verdicts if violates(evaluation, verdict.contract))
    asked = {crossing.place: crossing.asked for crossing in evaluation.crossings}
    landed = sorted(evaluation.effective, key=lambda injection: asked.get(place_of(injection), -1))
    arms = {
        Arm(injection.operator_name, injection.hook.interface) for injection in (landed if violated else landed[-1:])
    }
    return FailureSignature(violated, evaluation.ending.value, tuple(sorted(arms)))
