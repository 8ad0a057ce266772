"""What the arms of a bandit have earned, and which to pull next: UCB1 and Thompson sampling.

Sources: Auer, Cesa-Bianchi and Fischer 2002 (UCB1); Thompson 1933, Chapelle and Li 2011 (Thompson sampling);
Chen, Wang and Yuan 2013 (several arms at a time, each with a reward of its own).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

from chaosagent.searchers.seen.pool import Arm


class Credit:
    """Rewards in [0, 1] by arm."""

    def __init__(self) -> None:
        self._pulls: dict[Arm, int] = {}
        self._sums: dict[Arm, float] = {}
        self._all = 0

    def earn(self, arms: Iterable[Arm], reward: float) -> None:
        """Note the reward of one run for each arm that had its part in it."""
        for arm in arms:
            self._pulls[arm] = self._pulls.get(arm, 0) + 1
            self._sums[arm] = self._sums.get(arm, 0.0) + reward
            self._all += 1

    def pulls(self, arm: Arm) -> int:
        """Return how many runs an arm has had its part in."""
        return self._pulls.get(arm, 0)

    def by_ucb1(self, arms: Sequence[Arm], exploration: float, pending: dict[Arm, int]) -> list[Arm]:
        """Return arms by falling upper confidence bound, mean + exploration · √(ln n / n_j).

        Args:
            arms: To be ordered; those never pulled come first, and of equal ones the first of them.
            exploration: √2 in the source.
            pending: How often each is being pulled now; they count as pulls that earn nothing, so that not all trials
                in flight pull the same arm.
        """
        logarithm = math.log(max(2, self._all + sum(pending.values())))

        def bound(arm: Arm) -> float:
            pulls = self.pulls(arm) + pending.get(arm, 0)
            if not pulls:
                return math.inf
            return self._sums.get(arm, 0.0) / pulls + exploration * math.sqrt(logarithm / pulls)

        return sorted(arms, key=bound, reverse=True)

    def by_thompson(self, arms: Sequence[Arm], rng: random.Random) -> list[Arm]:
        """Return arms by a falling draw from Beta(1 + s_j, 1 + n_j - s_j), where s_j is the sum of rewards.

        Rewards are no successes and failures but shares of them; they are counted as such shares.
        """

        def draw(arm: Arm) -> float:
            earned = self._sums.get(arm, 0.0)
            return rng.betavariate(1.0 + earned, 1.0 + self.pulls(arm) - earned)

        draws = {arm: draw(arm) for arm in arms}
        return sorted(arms, key=draws.__getitem__, reverse=True)
