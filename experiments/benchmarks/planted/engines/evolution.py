"""Nevergrad, on a weight for each value of each slot of a schedule: the heaviest value is taken.

That is what its `Choice(deterministic=True)` does, which makes an object of every value and takes some 30 ms for each
run. A `Choice` that draws by its weights makes `NGOpt` prepare for noise, of which deterministic targets have none.
`NGOpt` is what nevergrad's documentation advises; it chooses an optimiser by the kind of the space and the number of
runs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce
from chaosagent.experiments.benchmarks.planted.engines.installing import installed
from chaosagent.experiments.benchmarks.planted.engines.scores import Scores
from chaosagent.experiments.benchmarks.planted.engines.vectors import of, sizes

OPTIMISER = "NGOpt"


def nevergrad(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""

    def search(arena: Arena, rng: random.Random) -> None:
        ng, scores = installed("nevergrad", needed_by="--searcher nevergrad-ngopt"), Scores(arena, reduce)
        counts = sizes(arena)
        while True:
            weights = ng.p.Array(init=np.zeros(sum(counts)))
            weights.random_state = np.random.RandomState(rng.getrandbits(32))  # nevergrad takes no other
            runs_left = max(1, arena.cap - arena.milestones.executions)
            optimiser = ng.optimizers.registry[OPTIMISER](parametrization=weights, budget=runs_left)
            scores.begin_anew()
            while not scores.stalled:
                asked = optimiser.ask()
                optimiser.tell(asked, scores(of(arena, heaviest(asked.value, counts))).value)

    return search


def heaviest(weights: Sequence[float], counts: Sequence[int]) -> list[int]:
    """Return the number of the heaviest value of each coordinate, the first of equals.

    Args:
        weights: Those of the first coordinate, of the second, and so on.
        counts: How many values each coordinate has.
    """
    numbers, begin = [], 0
    for count in counts:
        numbers.append(int(np.argmax(weights[begin : begin + count])))
        begin += count
    return numbers
