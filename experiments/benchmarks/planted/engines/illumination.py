"""pyribs: CMA-MAE over the unit cube, with an archive by the number and the cost of the injections that landed."""

from __future__ import annotations

import random

import numpy as np

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce
from chaosagent.experiments.benchmarks.planted.engines.installing import installed
from chaosagent.experiments.benchmarks.planted.engines.scores import Scores, injections_max
from chaosagent.experiments.benchmarks.planted.engines.vectors import at, sizes

COST_CELLS = 20
LEARNING_RATE, THRESHOLD_MIN = 0.01, -1.1
"""Of CMA-MAE, as the tutorial of pyribs sets the rate; after the change of sign, everything is worth -1 or more."""
EMITTERS, BATCH, SIGMA = 3, 12, 0.3


def illumination(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""

    def search(arena: Arena, rng: random.Random) -> None:
        archives = installed("ribs.archives", needed_by="--searcher pyribs-cma-mae")
        emitters = installed("ribs.emitters", needed_by="--searcher pyribs-cma-mae")
        schedulers = installed("ribs.schedulers", needed_by="--searcher pyribs-cma-mae")
        scores, dimension, most = Scores(arena, reduce), len(sizes(arena)), injections_max(arena)
        dearest = max(arena.cost(operator) for levels in arena.levels.values() for operator in levels)
        archive = archives.GridArchive(
            solution_dim=dimension,
            dims=(most + 1, COST_CELLS),
            ranges=[(-0.5, most + 0.5), (0.0, most * dearest)],
            learning_rate=LEARNING_RATE,
            threshold_min=THRESHOLD_MIN,
            seed=rng.getrandbits(32),
        )
        emitting = [
            emitters.EvolutionStrategyEmitter(
                archive,
                x0=np.full(dimension, 0.5),
                sigma0=SIGMA,
                ranker="imp",
                selection_rule="mu",
                restart_rule="basic",
                batch_size=BATCH,
                seed=rng.getrandbits(32),
            )
            for _ in range(EMITTERS)
        ]
        scheduler = schedulers.Scheduler(archive, emitting)
        while True:
            told = [scores(at(arena, point)) for point in scheduler.ask().tolist()]
            scheduler.tell([-score.value for score in told], [[len(score.judged.landed), score.cost] for score in told])

    return search
