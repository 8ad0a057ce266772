"""Random schedules within the budget, none twice: the baseline that every other searcher has to beat."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Annotated

from chaosagent.faults.schedule import INJECTIONS_MAX, Schedule
from chaosagent.searchers.drawing.searcher import DrawingSearcher
from chaosagent.searchers.drawing.uniform import draw_schedule
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import Within

REPEATS_MAX = 200


class RandomSearcher(DrawingSearcher):
    """Draws the number of injections, then each of them, uniformly from what executed runs have shown.

    An injection at a place that only others bring about comes together with those. What was violated already sets the
    limit: dearer schedules are not drawn any more.

    Args:
        problem: What is searched.
        injections_max: Most injections of one schedule, those not counted that others need.
    """

    name = "random"

    def __init__(self, problem: Problem, *, injections_max: Annotated[int, Within(1, INJECTIONS_MAX)] = 4) -> None:
        super().__init__(problem)
        self._injections_max = injections_max

    def _draws(self, rng: random.Random) -> Iterator[Schedule]:
        return (draw_schedule(self._pool, rng, self._injections_max) for _ in range(REPEATS_MAX))
