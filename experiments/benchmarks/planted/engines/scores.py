"""How what a run told becomes a number for engines that optimise, the same one for all of them.

A run that holds is worth its margin, from 1 far from a violation down to 0. One that violates is worth less than any of
these, and the less the cheaper it was: `cost / (cost + budget) - 1`. Less is better. Engines with two objectives get
margin and cost, the margin cut off at 0, as a violation cannot be more than one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from chaosagent.experiments.benchmarks.planted.arena import Arena, Enough, Judged
from chaosagent.experiments.benchmarks.planted.engines.engine import Reduce, Reduced
from chaosagent.faults.schedule import Schedule

STALLED = 30
"""Schedules in a row that were run before, after which engines that converge begin anew."""
REPEATS_MAX = 1_000
"""The same, after which an engine has nothing left to try."""


class Score(NamedTuple):
    """What one run is worth.

    Attributes:
        value: In (-1, 1]; less is better, and below 0 is a violation.
        margin: In [0, 1].
        cost: Of what landed.
        judged: All that the run told.
    """

    value: float
    margin: float
    cost: float
    judged: Judged


class Scores:
    """Runs schedules for an engine that optimises.

    Args:
        arena: Where they are run.
        reduce: How violations are made cheaper at once, each kind once; `None` to leave that to the engine.

    Attributes:
        repeats: How many schedules in a row were run before, the last ones.
    """

    def __init__(self, arena: Arena, reduce: Reduce | None = None) -> None:
        self._arena = arena
        self._run: Callable[[Schedule], Judged] = arena if reduce is None else Reduced(arena, reduce).take
        self.repeats = self._since = 0

    def begin_anew(self) -> None:
        """Say that what comes is from a new beginning, so that it is not stalled yet."""
        self._since = self.repeats

    def __call__(self, candidate: Schedule) -> Score:
        """Run a schedule.

        Raises:
            Enough: Nothing more is to be found, or `REPEATS_MAX` schedules in a row were run before.
        """
        before = self._arena.milestones.executions
        judged = self._run(candidate)
        if self._arena.milestones.executions == before:
            self.repeats += 1
        else:
            self.repeats = self._since = 0
        if self.repeats >= REPEATS_MAX:
            raise Enough
        return self.of(judged)

    @property
    def stalled(self) -> bool:
        """Whether it is time to begin anew."""
        return self.repeats - self._since >= STALLED

    def of(self, judged: Judged) -> Score:
        """Return what a run is worth."""
        margin = 0.0 if judged.violated else max(0.0, judged.margin)
        value = judged.cost / (judged.cost + self._arena.budget) - 1.0 if judged.violated else margin
        return Score(value, margin, judged.cost, judged)


def injections_max(arena: Arena) -> int:
    """Return how many injections a schedule within the budget has at most: what a user knows beforehand."""
    cheapest = min(arena.cost(operator) for levels in arena.levels.values() for operator in levels)
    return max(1, int(arena.budget / cheapest))
