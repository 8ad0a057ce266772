"""Wilson intervals."""

from math import comb
from statistics import fmean

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaosagent.errors import UsageError
from chaosagent.statistics.intervals import interval_over_tasks, wilson

COUNTS = st.integers(1, 5_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe 1998, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_that_of_the_literature(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson(successes, trials)

    assert interval == pytest.approx((low, high), abs=6e-5)


@given(COUNTS)
def test_the_interval_holds_the_share_and_stays_between_0_and_1(counts: tuple[int, int]) -> None:
    successes, trials = counts

    low, high = wilson(successes, trials)

    assert 0 <= low <= successes / trials <= high <= 1


@given(COUNTS)
def test_successes_and_failures_mirror_each_other(counts: tuple[int, int]) -> None:
    successes, trials = counts

    low, high = wilson(successes, trials)

    assert wilson(trials - successes, trials) == pytest.approx((1 - high, 1 - low))


@given(COUNTS)
def test_more_trials_narrow_it_and_more_confidence_widens_it(counts: tuple[int, int]) -> None:
    successes, trials = counts
    low, high = wilson(successes, trials)

    longer = wilson(successes * 4, trials * 4)
    surer = wilson(successes, trials, confidence=0.99)

    assert longer.high - longer.low < high - low < surer.high - surer.low


def test_without_trials_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials", "confidence"), [(2, 1, 0.95), (-1, 1, 0.95), (0, 1, 1.0), (0, 1, 0.0)])
def test_numbers_out_of_bounds_are_refused(successes: int, trials: int, confidence: float) -> None:
    with pytest.raises(UsageError, match=r"successes must be|confidence must lie"):
        wilson(successes, trials, confidence=confidence)


@pytest.mark.parametrize("tasks", [5, 8, 10, 15, 20, 30, 50])
def test_the_interval_over_tasks_covers_the_share_even_if_all_runs_of_a_task_end_alike(tasks: int) -> None:
    intervals = [
        interval_over_tasks(count / tasks, [1.0] * count + [0.0] * (tasks - count)) for count in range(tasks + 1)
    ]

    for percent in range(5, 96):
        share = percent / 100
        covered = sum(
            comb(tasks, count) * share**count * (1 - share) ** (tasks - count)
            for count, (low, high) in enumerate(intervals)
            if low <= share <= high
        )
        assert covered >= 0.93, f"share {share}"


def test_of_few_tasks_nothing_is_said() -> None:
    assert interval_over_tasks(1.0, [1.0] * 4) == (0.0, 1.0)


@given(st.lists(st.floats(0, 1), min_size=5, max_size=40))
@example([0.0, 0.0, 0.0, 0.0, 2e-309])
def test_the_interval_over_tasks_holds_their_mean_and_is_no_wider_than_if_each_failed_or_succeeded(
    shares: list[float],
) -> None:
    mean = min(1.0, fmean(shares))

    low, high = interval_over_tasks(mean, shares)

    widest = interval_over_tasks(0.5, [0.0] * (len(shares) // 2) + [1.0] * (len(shares) - len(shares) // 2))
    assert 0 <= low <= mean <= high <= 1
    assert high - low <= widest.high - widest.low + 1e-9


def test_tasks_that_are_alike_tell_more_of_other_tasks_than_tasks_that_differ() -> None:
    alike, different = interval_over_tasks(0.5, [0.5] * 20), interval_over_tasks(0.5, [0.0, 1.0] * 10)

    assert alike.high - alike.low < (different.high - different.low) / 1.5


@pytest.mark.parametrize(("mean", "shares"), [(1.5, [1.0] * 5), (0.5, [0.5] * 5 + [-0.1]), (float("nan"), [0.5] * 5)])
def test_what_is_no_share_is_refused(mean: float, shares: list[float]) -> None:
    with pytest.raises(UsageError, match="is no share"):
        interval_over_tasks(mean, shares)
