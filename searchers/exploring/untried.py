"""Faults that no run of few faults has tried.

In a dense schedule a fault may land and still have had no chance, as others changed or ended the run. So each is tried
with few others, too.
"""

from __future__ import annotations

import random

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection

FEW = 3
"""Most faults of a run of few."""

TRIES = 3
"""How often a fault is tried with few others that do not let it land."""

SAMPLE = 24
"""Of how many faults a schedule is made."""


class UntriedFaults:
    """Keeps them; it follows from what was told."""

    def __init__(self) -> None:
        self._tries: dict[Injection, int] = {}

    def add(self, injection: Injection) -> None:
        """Take a fault that was seen to be possible, once."""
        self._tries[injection] = 0

    def learn(self, evaluation: Evaluation) -> None:
        """Leave out what a run of few faults has tried."""
        tries = self._tries
        if len(evaluation.effective) <= FEW:
            for injection in evaluation.effective:
                tries.pop(injection, None)
        for injection in evaluation.schedule if len(evaluation.schedule) <= FEW else ():
            before = tries.get(injection)
            if before is not None:
                tries[injection] = before + 1
                if before + 1 >= TRIES:
                    del tries[injection]

    def sample(self, rng: random.Random) -> list[Injection]:
        """Return some of them in random order; none when all were tried."""
        known = list(self._tries)
        return rng.sample(known, min(SAMPLE, len(known)))
