"""Random schedules of one to all hooks, and every violation reduced at once."""

from __future__ import annotations

import random

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce, Reduced, drawn


def dense_draws(reduce: Reduce) -> Engine:
    """Return the engine with a way to reduce what it finds.

    The number of injections is drawn evenly on a logarithmic scale: too many stop a careful agent before anything can
    go wrong, and too few seldom meet.
    """

    def search(arena: Arena, rng: random.Random) -> None:
        reduced = Reduced(arena, reduce)
        while True:
            count = round(len(arena.hooks) ** rng.random())
            reduced.take(drawn(arena, rng.sample(arena.hooks, count), rng))

    return search
