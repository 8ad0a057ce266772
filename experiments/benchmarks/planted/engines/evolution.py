"""Nevergrad, on the slots of a schedule as unordered choices.

`NGOpt` is what its documentation advises; it chooses an optimiser by the kind of the space and the number of runs.
"""

from __future__ import annotations

import random

import numpy as np

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce
from chaosagent.experiments.benchmarks.planted.engines.installing import installed
from chaosagent.experiments.benchmarks.planted.engines.scores import Scores
from chaosagent.experiments.benchmarks.planted.engines.vectors import of, sizes

OPTIMISER = "NGOpt"
BUDGET = 5_000
"""Runs that the optimiser is told to expect; the arena's limit ends it."""


def nevergrad(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""

    def search(arena: Arena, rng: random.Random) -> None:
        ng, scores = installed("nevergrad", needed_by="--searcher nevergrad-ngopt"), Scores(arena, reduce)
        while True:
            choices = ng.p.Tuple(*(ng.p.Choice(range(size)) for size in sizes(arena)))
            choices.random_state = np.random.RandomState(rng.getrandbits(32))  # nevergrad takes no other
            optimiser = ng.optimizers.registry[OPTIMISER](parametrization=choices, budget=BUDGET)
            scores.begin_anew()
            while not scores.stalled:
                asked = optimiser.ask()
                optimiser.tell(asked, scores(of(arena, asked.value)).value)

    return search
