"""Optuna's NSGA-II on margin and cost, on the conditional space of `slots`."""

from __future__ import annotations

import random

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce
from chaosagent.experiments.benchmarks.planted.engines.scores import Scores
from chaosagent.experiments.benchmarks.planted.engines.slots import quiet_optuna, suggested

POPULATION = 50
"""Optuna's own."""


def nsga2(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""

    def search(arena: Arena, rng: random.Random) -> None:
        optuna, scores = quiet_optuna("--searcher optuna-nsga2"), Scores(arena, reduce)
        sampler = optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=rng.getrandbits(32))
        study = optuna.create_study(sampler=sampler, directions=["minimize", "minimize"])
        while True:
            trial = study.ask()
            score = scores(suggested(trial, arena))
            study.tell(trial, [score.margin, score.cost])

    return search
