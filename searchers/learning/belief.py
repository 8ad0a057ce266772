"""What an adversary believes of its choices: a linear model of what an episode brings, learned as a Kalman filter does.

Each weight is normal and independent of the others; an episode brings the sum of the weights of all that was chosen in
it. So what was chosen together shares the credit, and what was tried alone tells most.

Source: Agrawal and Goyal 2013 (Thompson sampling for linear contextual bandits), with a diagonal covariance, as AROW
has it (Crammer, Kulesza and Dredze 2009), so that a step costs as many operations as there are weights in an episode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from chaosagent.faults.online import SPREADS

WEIGHTS_MAX = 4_096
"""How many weights a policy is given at most, those that are known best; it travels with every run."""

DIGITS = 6

Weights: TypeAlias = "tuple[tuple[str, tuple[tuple[int, float, float], ...]], ...]"


class Weight(NamedTuple):
    """A weight as far as it is known.

    Attributes:
        mean: What it most likely is.
        variance: How sure that is.
    """

    mean: float
    variance: float


class Belief:
    """Weights of operators in contexts; see `chaosagent.faults.online.contexts`.

    Args:
        noise: Variance of what an episode brings beyond what its weights explain.
    """

    def __init__(self, noise: float) -> None:
        self._noise = noise
        self._known: dict[str, dict[int, Weight]] = {}
        self._count = 0
        self._exported: Weights | None = None

    def learn(self, used: Iterable[tuple[str, int, float]], brought: float) -> None:
        """Learn from an episode.

        Args:
            used: Contexts of what was chosen, with the number of the operator, and how much each counts; one that is
                named twice counts twice.
            brought: What the episode brought more than the run without injections.
        """
        counts: dict[tuple[str, int], float] = {}
        for context, number, share in used:
            counts[context, number] = counts.get((context, number), 0.0) + share
        now = [(key, count, self.of(*key)) for key, count in counts.items() if count]
        if not now:
            return
        self._exported = None
        expected = math.fsum(count * weight.mean for _, count, weight in now)
        total = self._noise + math.fsum(count * count * weight.variance for _, count, weight in now)
        surprise = brought - expected
        for (context, number), count, weight in now:
            gain = weight.variance * count / total
            row = self._known.setdefault(context, {})
            self._count += number not in row
            row[number] = Weight(weight.mean + gain * surprise, weight.variance * (1.0 - gain * count))

    def of(self, context: str, number: int) -> Weight:
        """Return a weight."""
        known = self._known.get(context, {}).get(number)
        return Weight(0.0, SPREADS[context[0]] ** 2) if known is None else known

    def weights(self) -> Weights:
        """Return what is known, for a policy."""
        if self._exported is None:
            least = self._variance_max()
            self._exported = tuple(
                (context, tuple(kept))
                for context, row in self._known.items()
                if (
                    kept := [
                        (number, round(weight.mean, DIGITS), round(math.sqrt(weight.variance), DIGITS))
                        for number, weight in row.items()
                        if weight.variance <= least
                    ]
                )
            )
        return self._exported

    def _variance_max(self) -> float:
        """Return the variance up to which weights are given to policies."""
        if self._count <= WEIGHTS_MAX:
            return math.inf
        variances = sorted(weight.variance for row in self._known.values() for weight in row.values())
        return variances[WEIGHTS_MAX - 1]
