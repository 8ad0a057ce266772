"""Pairs of effects, drawn by how likely they go together; each trial changes few of them.

A draw costs the logarithm of their number: their weights are summed in a tree (Fenwick 1994).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, islice

PAIRS_MAX = 4_000
"""Of more pairs of effects only the first are looked at, cheapest first."""

BLAME_FACTOR = 0.25
"""By this a pair is drawn less often for each time that it is blamed. A power of two, so that sums of weights are exact
and what is drawn does not depend on the way by which they came about."""


class Pairs:
    """Keeps which effects were borne together, and which are blamed for the end of a run. Effects are numbered from 0.

    Attributes:
        costs: Of the effects; to be changed by `set_cost` alone.
    """

    def __init__(self) -> None:
        self.costs: list[float] = []
        self._borne: list[int] = []  # bit sets: with which effects of lower number
        self._blamed: Counter[tuple[int, int]] = Counter()
        self._pairs: list[tuple[int, int]] = []
        self._places: dict[tuple[int, int], int] = {}
        self._weights: list[float] = []
        self._sums: list[float] = []
        self._open = self._fresh = 0
        self._is_stale = False

    def set_cost(self, effect: int, cost: float) -> None:
        """Take a new effect, or a cheaper way to one that is known."""
        if effect == len(self.costs):
            self.costs.append(cost)
            self._borne.append(0)
        self.costs[effect] = cost
        self._is_stale = True

    def bear(self, effects: Sequence[int]) -> None:
        """Note that a run has borne effects together."""
        before = 0
        for effect in sorted(effects):
            new = before & ~self._borne[effect]
            self._borne[effect] |= new
            before |= 1 << effect
            while new and not self._is_stale:
                lowest = new & -new
                self._weigh((lowest.bit_length() - 1, effect), 0.0)
                new ^= lowest

    def blame(self, one: int, other: int, times: int) -> None:
        """Note that two effects together may have ended a run."""
        pair = (one, other) if one < other else (other, one)
        self._blamed[pair] += times
        if not self._is_stale and not self._is_borne(pair):
            self._weigh(pair, self._weight(pair))

    def blamed(self, one: int, other: int) -> int:
        """Return how much two effects are blamed; not at all when they were borne together."""
        pair = (one, other) if one < other else (other, one)
        times = self._blamed.get(pair, 0)
        return 0 if times and self._is_borne(pair) else times

    @property
    def has_fresh(self) -> bool:
        """Whether two effects were neither borne together nor blamed."""
        if self._is_stale:
            self._build()
        return self._fresh > 0

    def draw(self, rng: random.Random) -> tuple[int, int] | None:
        """Return two effects that no run has borne together, `None` when there are none."""
        if self._is_stale:
            self._build()
        if not self._open:
            return None
        left, place, step = rng.random() * self._total(), 0, 1 << (len(self._sums) - 1).bit_length()
        while step:
            further = place + step
            if further < len(self._sums) and self._sums[further] <= left:
                place, left = further, left - self._sums[further]
            step >>= 1
        return self._pairs[min(place, len(self._pairs) - 1)]

    # ------------------------------------------------------------------ the tree

    def _is_borne(self, pair: tuple[int, int]) -> bool:
        return bool(self._borne[pair[1]] >> pair[0] & 1)

    def _weight(self, pair: tuple[int, int]) -> float:
        return 0.0 if self._is_borne(pair) else float(BLAME_FACTOR ** self._blamed.get(pair, 0))

    def _build(self) -> None:
        costs, borne, blamed = self.costs, self._borne, self._blamed
        in_order = sorted(range(len(costs)), key=costs.__getitem__)
        first = list(islice(combinations(in_order, 2), PAIRS_MAX))
        both = [costs[one] + costs[other] for one, other in first]
        in_order = sorted(range(len(first)), key=both.__getitem__)
        pairs = [(one, other) if one < other else (other, one) for one, other in map(first.__getitem__, in_order)]
        self._pairs, self._places = pairs, dict(zip(pairs, range(len(pairs)), strict=True))
        self._weights = [0.0 if borne[other] >> one & 1 else 1.0 for one, other in pairs]
        for pair in blamed.keys() & self._places.keys():
            self._weights[self._places[pair]] = self._weight(pair)
        self._open = sum(map(bool, self._weights))
        self._fresh = self._weights.count(1.0)
        self._sums = sums = [0.0, *self._weights]
        for place in range(1, len(sums)):
            above = place + (place & -place)
            if above < len(sums):
                sums[above] += sums[place]
        self._is_stale = False

    def _weigh(self, pair: tuple[int, int], weight: float) -> None:
        place = self._places.get(pair)
        if place is None:
            return
        added = weight - self._weights[place]
        self._open += bool(weight) - bool(self._weights[place])
        self._fresh += (weight == 1.0) - (self._weights[place] == 1.0)
        self._weights[place] = weight
        place += 1
        while place < len(self._sums):
            self._sums[place] += added
            place += place & -place

    def _total(self) -> float:
        total, place = 0.0, len(self._sums) - 1
        while place:
            total += self._sums[place]
            place &= place - 1
        return total
