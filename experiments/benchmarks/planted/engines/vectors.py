"""Schedules as points of the unit cube, for engines that know nothing else: a count, then a hook and a level each."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.scores import injections_max
from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.operator import Operator
from chaosagent.faults.schedule import Schedule, schedule


def sizes(arena: Arena) -> list[int]:
    """Return how many values each coordinate tells apart."""
    levels_max = max(len(levels) for levels in arena.levels.values())
    most = injections_max(arena)
    return [most, *[len(arena.hooks), levels_max] * most]


def at(arena: Arena, point: Sequence[float]) -> Schedule:
    """Return the schedule of a point, moved to the cube if it lies outside."""
    within = zip(point, sizes(arena), strict=True)
    return of(arena, [min(max(int(value * size), 0), size - 1) for value, size in within])


def of(arena: Arena, numbers: Sequence[int]) -> Schedule:
    """Return the schedule of a count less one, and a hook and a level for each slot, by their numbers.

    Of two injections at one hook the first stands.
    """
    chosen: dict[Hook, Operator] = {}
    for slot in range(numbers[0] + 1):
        hook = arena.hooks[numbers[1 + 2 * slot]]
        levels = arena.levels[hook]
        chosen.setdefault(hook, levels[min(numbers[2 + 2 * slot], len(levels) - 1)])
    return schedule(inject(hook, operator) for hook, operator in chosen.items())
