"""Random schedules of a few injections within the budget, none twice: the baseline."""

from __future__ import annotations

import random

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import drawn
from chaosagent.faults.schedule import Schedule

INJECTIONS_MAX = 4
REPEATS_MAX = 1_000


def sparse_draws(arena: Arena, rng: random.Random) -> None:
    """Draw the number of injections, their hooks and their levels, all evenly."""
    seen: set[Schedule] = set()
    repeats = 0
    while repeats < REPEATS_MAX:
        count = rng.randint(1, min(INJECTIONS_MAX, len(arena.hooks)))
        candidate = drawn(arena, rng.sample(arena.hooks, count), rng)
        cost = sum(arena.cost(injection.operator) for injection in candidate)
        if cost > arena.budget or (candidate in seen and not arena.stochastic):
            repeats += 1
            continue
        repeats = 0
        seen.add(candidate)
        arena(candidate)
