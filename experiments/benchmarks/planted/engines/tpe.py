"""Optuna's tree-structured Parzen estimator, on the conditional space of `slots`.

Multivariate and by groups, as its documentation advises for parameters that depend on each other and for conditional
spaces; constants of Optuna where nothing is said here. A study that proposes nothing new is followed by another.
"""

from __future__ import annotations

import random

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce
from chaosagent.experiments.benchmarks.planted.engines.scores import Scores
from chaosagent.experiments.benchmarks.planted.engines.slots import quiet_optuna, suggested

TRIALS_MAX = 1_000
"""After so many trials a new study begins: each trial costs time in proportion to those before."""


def tpe(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""

    def search(arena: Arena, rng: random.Random) -> None:
        optuna, scores = quiet_optuna("--searcher optuna-tpe"), Scores(arena, reduce)
        while True:
            sampler = optuna.samplers.TPESampler(multivariate=True, group=True, seed=rng.getrandbits(32))
            study = optuna.create_study(sampler=sampler)
            scores.begin_anew()
            for _ in range(TRIALS_MAX):
                trial = study.ask()
                study.tell(trial, scores(suggested(trial, arena)).value)
                if scores.stalled:
                    break

    return search
