"""How large the space of schedules is at each level of cost, and how far the searches have come there.

A level is a whole unit of cost: level 1 holds what costs from 1 up to below 2, mostly single faults.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Place
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space

COST_STEP = 0.05
"""Costs are rounded to this where schedules are counted."""


class Level(NamedTuple):
    """One level of cost.

    Attributes:
        cost: The least cost there, a whole number.
        schedules: How many schedules there are at least, for one contract of each task and seed: combinations of faults
            at the calls of the runs without injections. Faults open further calls, and rules spare most runs.
        trials: How many trials the searches were told of.
        searches_over: How many searches have ended, or proved that nothing breaks their contract there.
    """

    cost: int
    schedules: int
    trials: int
    searches_over: int


@dataclass(frozen=True, slots=True)
class LevelCounts:
    """How many schedules and how many trials there are at each level for one task."""

    schedules: dict[int, int] = field(default_factory=dict)
    trials: dict[int, int] = field(default_factory=dict)


class Levels:
    """Keeps count, level by level.

    Args:
        space: What may be injected where.
        budget: Up to which cost is searched.

    Attributes:
        by_task: The counts of each task.
    """

    def __init__(self, space: Space, budget: float) -> None:
        self._space, self._budget = space, budget
        self.by_task: defaultdict[str, LevelCounts] = defaultdict(LevelCounts)

    def note_nominal(self, task_id: str, nominal: Evaluation) -> None:
        """Count what could be injected into a run without injections."""
        counts = self.by_task[task_id].schedules
        for level, count in schedules_by_level(nominal, self._space, self._budget).items():
            counts[level] = counts.get(level, 0) + count

    def note_trial(self, task_id: str, schedule: Schedule) -> None:
        """Count a trial."""
        counts = self.by_task[task_id].trials
        level = math.floor(schedule.declared_cost(self._space.model) + COST_TOLERANCE)
        counts[level] = counts.get(level, 0) + 1

    def told(self, bounds: Collection[float], searches: int) -> tuple[Level, ...]:
        """Return the levels up to the budget.

        Args:
            bounds: The lower bound of each search that is not over.
            searches: How many there are in all.
        """
        over, tasks = searches - len(bounds), self.by_task.values()
        return tuple(
            Level(
                cost,
                sum(counts.schedules.get(cost, 0) for counts in tasks),
                sum(counts.trials.get(cost, 0) for counts in tasks),
                over + sum(bound >= min(cost + 1, self._budget + COST_TOLERANCE) for bound in bounds),
            )
            for cost in range(max(1, math.floor(self._space.cost_min)), math.floor(self._budget + COST_TOLERANCE) + 1)
        )


def schedules_by_level(nominal: Evaluation, space: Space, budget: float) -> Mapping[int, int]:
    """Return how many schedules there are at each level: one fault at most at each call, and any calls together.

    Args:
        nominal: A run without injections.
        space: What may be injected where.
        budget: What is dearer does not count.
    """
    calls: defaultdict[Place, list[int]] = defaultdict(list)
    for crossing in nominal.crossings:
        found = space.at(crossing.boundary, crossing.place.interface, crossing.place.agent)
        calls[crossing.place] = [round(priced.cost / COST_STEP) for priced in found if priced.cost <= budget]
    most = math.floor((budget + COST_TOLERANCE) / COST_STEP)
    counts: Counter[int] = Counter({0: 1})  # of combinations, by cost in steps
    for costs in calls.values():
        by_cost = Counter(costs)
        added: Counter[int] = Counter()
        for total, count in counts.items():
            for cost, number in by_cost.items():
                if total + cost <= most:
                    added[total + cost] += count * number
        counts.update(added)
    levels: Counter[int] = Counter()
    for total, count in counts.items():
        levels[math.floor(total * COST_STEP + COST_TOLERANCE)] += count
    del levels[0]
    return levels
