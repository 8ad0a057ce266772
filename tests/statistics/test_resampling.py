"""Intervals by resampling."""

import random
from math import sqrt

import pytest

from chaosagent.errors import UsageError
from chaosagent.statistics.resampling import resampled_interval

pytest.importorskip("numpy", reason="needs the extra `statistics`")
VALUES = [number / 99 for number in range(100)]


def test_equal_streams_give_equal_intervals_and_others_do_not() -> None:
    first, again, other = (resampled_interval(VALUES, rng=random.Random(seed), resamples=500) for seed in (1, 1, 2))

    assert first == again != other


def test_with_many_values_it_is_close_to_the_normal_interval() -> None:
    mean = sum(VALUES) / len(VALUES)
    error = sqrt(sum((value - mean) ** 2 for value in VALUES)) / len(VALUES)

    low, high = resampled_interval(VALUES, rng=random.Random(0))

    assert (low, high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=0.005)


def test_a_greater_confidence_gives_a_wider_interval_and_equal_values_none() -> None:
    narrow, wide = (resampled_interval(VALUES, rng=random.Random(0), confidence=share) for share in (0.5, 0.99))

    assert wide.low < narrow.low < narrow.high < wide.high
    assert resampled_interval([0.25] * 4, rng=random.Random(0)) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("values", "resamples", "confidence"), [([], 100, 0.9), ([1.0], 0, 0.9), ([1.0], 2_000_000, 0.9), ([1.0], 100, 1.0)]
)
def test_numbers_out_of_bounds_are_refused(values: list[float], resamples: int, confidence: float) -> None:
    with pytest.raises(UsageError, match="resampled_interval"):
        resampled_interval(values, rng=random.Random(0), resamples=resamples, confidence=confidence)
