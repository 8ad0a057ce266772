"""Clopper-Pearson intervals."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.errors import MissingExtraError, UsageError
from chaosagent.statistics.exact import exact_interval
from chaosagent.statistics.sequential import clean_share_max

pytest.importorskip("scipy", reason="needs the extra `statistics`")
COUNTS = st.integers(1, 300).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe 1998, table I, method 5.
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_the_interval_is_that_of_the_literature(successes: int, trials: int, low: float, high: float) -> None:
    assert exact_interval(successes, trials) == pytest.approx((low, high), abs=6e-5)


@given(COUNTS)
def test_at_its_ends_what_was_seen_has_the_probability_of_a_tail(counts: tuple[int, int]) -> None:
    successes, trials = counts

    low, high = exact_interval(successes, trials)

    assert 0 <= low <= successes / trials <= high <= 1
    if successes > 0:
        assert _at_least(successes, trials, low) == pytest.approx(0.025, abs=1e-6)
    if successes < trials:
        assert 1 - _at_least(successes + 1, trials, high) == pytest.approx(0.025, abs=1e-6)


def test_without_a_success_it_agrees_with_what_the_core_computes() -> None:
    assert exact_interval(0, 59, confidence=0.9).high == pytest.approx(clean_share_max(59, error=0.05))
    assert exact_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials", "confidence"), [(-1, 3, 0.95), (4, 3, 0.95), (1, 3, 1.0), (1, 3, 0.0)])
def test_numbers_out_of_bounds_are_refused(successes: int, trials: int, confidence: float) -> None:
    with pytest.raises(UsageError, match="exact_interval"):
        exact_interval(successes, trials, confidence=confidence)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy.stats", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'chaosagent\[statistics\]'"):
        exact_interval(1, 2)


def _at_least(successes: int, trials: int, share: float) -> float:
    return sum(comb(trials, n) * share**n * (1 - share) ** (trials - n) for n in range(successes, trials + 1))
