"""Pairs of effects are drawn as if all weights were added up anew for each draw."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.searchers.exploring import effects as module
from chaosagent.searchers.exploring.effects import BLAME_FACTOR, Pairs


class Plain:
    """The same, without a tree."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self.borne: set[tuple[int, int]] = set()
        self.blamed: Counter[tuple[int, int]] = Counter()

    def draw(self, rng: random.Random, pairs_max: int) -> tuple[int, int] | None:
        in_order = sorted(range(len(self.costs)), key=self.costs.__getitem__)
        first = [(min(pair), max(pair)) for pair in combinations(in_order, 2)][:pairs_max]
        new = [pair for pair in first if pair not in self.borne]
        new.sort(key=lambda pair: self.costs[pair[0]] + self.costs[pair[1]])
        return rng.choices(new, [BLAME_FACTOR ** self.blamed[pair] for pair in new])[0] if new else None

    def has_fresh(self, pairs_max: int) -> bool:
        in_order = sorted(range(len(self.costs)), key=self.costs.__getitem__)
        first = [(min(pair), max(pair)) for pair in combinations(in_order, 2)][:pairs_max]
        return any(pair not in self.borne and not self.blamed[pair] for pair in first)


EFFECTS = st.integers(min_value=0, max_value=7)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("cost"), EFFECTS, st.sampled_from([1.0, 1.5, 2.0])),
        st.tuples(st.just("bear"), st.sets(EFFECTS, max_size=4)),
        st.tuples(st.just("blame"), EFFECTS, EFFECTS, st.integers(min_value=1, max_value=4)),
        st.tuples(st.just("draw"), st.integers(min_value=0, max_value=99)),
    ),
    max_size=40,
)


@given(steps=STEPS, pairs_max=st.sampled_from([5, 4_000]))
def test_what_is_drawn_follows_from_what_was_noted(steps: list[tuple[object, ...]], pairs_max: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRS_MAX", pairs_max)
        pairs, plain = Pairs(), Plain()
        for kind, *values in [("cost", 0, 1.0), ("cost", 1, 1.0), *steps, ("draw", 1), ("draw", 2)]:
            count = len(plain.costs)
            match kind, values:
                case "cost", [int(effect), float(cost)]:
                    effect = min(effect, count)
                    plain.costs[effect : effect + 1] = [cost]
                    pairs.set_cost(effect, cost)
                case "bear", [set(effects)]:
                    known = sorted(effect for effect in effects if effect < count)
                    plain.borne.update(combinations(known, 2))
                    pairs.bear(known)
                case "blame", [int(one), int(other), int(times)] if one != other and max(one, other) < count:
                    plain.blamed[min(one, other), max(one, other)] += times
                    pairs.blame(one, other, times)
                case "draw", [int(seed)]:
                    drawn = plain.draw(random.Random(seed), pairs_max)
                    assert pairs.draw(random.Random(seed)) == drawn
                    assert pairs.has_fresh == plain.has_fresh(pairs_max)
                case _:
                    continue
        for pair in combinations(range(len(plain.costs)), 2):
            assert pairs.blamed(*pair) == (0 if pair in plain.borne else plain.blamed[pair])
