"""The smallest suite: against brute force."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.api.suites.covering import smallest_cover

pytest.importorskip("scipy", reason="needs the extra `statistics`")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.frozensets(st.integers(0, 7), max_size=4), max_size=9))
def test_it_is_as_small_as_brute_force_finds_and_prefers_early_names(sets: list[frozenset[int]]) -> None:
    shown = {f"record-{number}": some for number, some in enumerate(sets)}
    names, wanted = list(shown), set(chain.from_iterable(sets))

    chosen = smallest_cover(shown)

    assert set(chain.from_iterable(shown[name] for name in chosen)) == wanted
    every = [
        some
        for size in range(len(names) + 1)
        for some in combinations(range(len(names)), size)
        if set(chain.from_iterable(sets[number] for number in some)) == wanted
    ]
    best = min((len(some), sum(some)) for some in every)
    places = [names.index(name) for name in chosen]
    assert (len(places), sum(places)) == best
    assert places == sorted(places)
    assert smallest_cover(shown) == chosen
