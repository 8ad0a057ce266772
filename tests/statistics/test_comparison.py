"""Fisher's exact test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.errors import UsageError
from chaosagent.statistics.comparison import fisher_greater

SHARES = st.integers(0, 30).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


def test_the_lady_tasting_tea_has_the_p_value_of_the_book() -> None:
    assert fisher_greater(3, 4, 1, 4) == pytest.approx(17 / 70)


@given(SHARES, SHARES)
def test_the_p_value_lies_between_0_and_1_and_falls_with_every_further_success(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    (successes, trials), (other_successes, other_trials) = one, other
    now = fisher_greater(successes, trials, other_successes, other_trials)

    assert 0.0 <= now <= 1.0
    if successes < trials:
        assert fisher_greater(successes + 1, trials, other_successes, other_trials) <= now


def test_no_trials_decide_nothing() -> None:
    assert fisher_greater(0, 0, 0, 10) == 1.0


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(UsageError, match="successes must be from 0 to trials"):
        fisher_greater(3, 2, 0, 1)
