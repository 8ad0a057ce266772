"""Sequential tests keep their error rates although they are looked at after each trial."""

from itertools import product
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.errors import UsageError
from chaosagent.seeds import derive
from chaosagent.statistics.sequential import (
    EvidenceOfLess,
    EvidenceOfMore,
    EvidenceOfNearness,
    clean_share_max,
    confidence_sequence,
)

SHARES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.8, 1.0)
PAIRS = list(product((False, True), repeat=2))


def mass(share: float, success: bool) -> float:
    return share if success else 1.0 - share


@given(st.lists(st.sampled_from(PAIRS), max_size=30), st.floats(0, 1), st.floats(0, 1))
def test_evidence_of_more_does_not_grow_on_average_where_the_share_is_not_greater(
    seen: list[tuple[bool, bool]], share: float, more: float
) -> None:
    share, other = min(share, more), max(share, more)
    expected = 0.0
    for pair in PAIRS:
        evidence = EvidenceOfMore()
        for earlier in seen:
            evidence.add(*earlier)
        before = evidence.log
        evidence.add(*pair)
        expected += mass(share, pair[0]) * mass(other, pair[1]) * exp(evidence.log - before)

    assert expected <= 1.0 + 1e-9


@given(st.lists(st.sampled_from(PAIRS), max_size=30), st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 0.99))
def test_evidence_of_nearness_does_not_grow_on_average_where_the_difference_is_there(
    seen: list[tuple[bool, bool]], place: float, more: float, difference: float
) -> None:
    other = place * (1.0 - difference)
    share = other + difference + more * (1.0 - difference - other)
    expected = 0.0
    for pair in PAIRS:
        evidence = EvidenceOfNearness(difference)
        for earlier in seen:
            evidence.add(*earlier)
        before = evidence.log
        evidence.add(*pair)
        expected += mass(share, pair[0]) * mass(other, pair[1]) * exp(evidence.log - before)

    assert expected <= 1.0 + 1e-6


@given(st.lists(st.booleans(), max_size=30), st.floats(0.01, 0.99), st.floats(0, 1))
def test_evidence_of_less_does_not_grow_on_average_where_the_share_is_not_less(
    seen: list[bool], least: float, more: float
) -> None:
    share = least + more * (1.0 - least)
    expected = 0.0
    for success in (False, True):
        evidence = EvidenceOfLess(least)
        for earlier in seen:
            evidence.add(earlier)
        before = evidence.log
        evidence.add(success)
        expected += mass(share, success) * exp(evidence.log - before)

    assert expected <= 1.0 + 1e-9


def pairs_until(limit: float, share: float, other: float, seed: int) -> int | None:
    rng = derive(seed, "pairs")
    evidence = EvidenceOfMore()
    for number in range(1, 201):
        evidence.add(rng.random() < share, rng.random() < other)
        if evidence.log >= log(limit):
            return number
    return None


def test_what_always_happens_is_clear_after_a_few_pairs_and_what_happens_as_often_anyway_seldom_is() -> None:
    clear = [pairs_until(40, 1.0, 0.0, seed) for seed in range(20)]
    likelier = [pairs_until(40, 0.3, 0.02, seed) for seed in range(100)]
    as_likely = [pairs_until(20, 0.2, 0.2, seed) for seed in range(200)]

    assert set(clear) == {5}
    assert sum(one is not None for one in likelier) >= 99
    assert sorted(one or 200 for one in likelier)[50] <= 25
    assert 0 < sum(one is not None for one in as_likely) <= 15  # 10 of 200 are allowed on average


def test_flakes_are_told_from_what_happens_in_one_run_of_five() -> None:
    alone, beside = EvidenceOfLess(0.2), EvidenceOfNearness(0.2)
    for _ in range(16):
        alone.add(False)
        beside.add(False, False)

    assert alone.log >= log(20)
    assert beside.log >= log(20)


@pytest.mark.slow
def test_a_confidence_sequence_covers_the_share_at_every_number_of_trials_at_once() -> None:
    for share in (0.02, 0.3, 0.7):
        missed = 0
        for seed in range(100):
            rng, successes, holds = derive(seed, "covers", str(share)), 0, True
            for trials in range(1, 101):
                successes += rng.random() < share
                low, high = confidence_sequence(successes, trials)
                holds = holds and low <= share <= high
            missed += not holds
        assert missed <= 10  # 5 are allowed on average


@given(st.integers(0, 60).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_a_confidence_sequence_holds_what_was_seen_and_mirrors(counts: tuple[int, int]) -> None:
    successes, trials = counts
    low, high = confidence_sequence(successes, trials)
    mirrored = confidence_sequence(trials - successes, trials)

    assert 0.0 <= low <= (successes / trials if trials else 0.5) <= high <= 1.0
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high), abs=1e-9)
    assert not trials or high - low < 1.0


def test_a_confidence_sequence_is_wider_than_an_interval_of_a_fixed_number_but_not_by_far() -> None:
    low, high = confidence_sequence(6, 20)

    assert (round(low, 3), round(high, 3)) == (0.07, 0.639)
    assert confidence_sequence(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("trials", [1, 2, 8, 14, 200])
@pytest.mark.parametrize("error", [0.5, 0.05, 0.001])
def test_what_happens_in_the_share_that_is_printed_is_missed_with_the_error_that_is_printed(
    trials: int, error: float
) -> None:
    share = clean_share_max(trials, error=error)

    assert 0.0 < share < 1.0
    assert (1.0 - share) ** trials == pytest.approx(error)
    assert clean_share_max(trials + 1, error=error) < share
    assert clean_share_max(0, error=error) == 1.0


def test_numbers_out_of_bounds_are_refused() -> None:
    with pytest.raises(UsageError, match="successes must be from 0 to trials"):
        confidence_sequence(3, 2)
    with pytest.raises(UsageError, match="confidence must lie between 0 and 1"):
        confidence_sequence(1, 2, confidence=1.0)
    with pytest.raises(UsageError, match="least must lie between 0 and 1"):
        EvidenceOfLess(0.0)
    with pytest.raises(UsageError, match="difference must lie between 0 and 1"):
        EvidenceOfNearness(1.0)
