"""Comparing two studies: a difference is only what the other study has proved impossible."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.metrics.comparison import Change, SearchKey, SearchOutcome, compare

KEY = SearchKey("refund", 0, "at-most-once")
BUDGET = 3.0

COSTS = st.integers(0, 12).map(lambda number: number / 4)


@st.composite
def studies(draw: st.DrawFn) -> tuple[dict[SearchKey, float], dict[SearchKey, SearchOutcome]]:
    """Return the true least cost of each search, infinite if there is none, and what some study of it says."""
    truth, said = {}, {}
    for number in range(draw(st.integers(1, 6))):
        key = SearchKey(f"task-{number}", 0, "at-most-once")
        least = draw(st.one_of(COSTS, st.just(math.inf)))
        below = min(draw(st.one_of(COSTS, st.just(math.inf))), least)
        more = draw(st.one_of(st.none(), st.integers(0, 8))) if least <= BUDGET else None
        cost = None if more is None else least + more / 4
        is_safe = below > BUDGET
        truth[key] = least
        said[key] = SearchOutcome(cost, min(below, BUDGET), BUDGET if is_safe else None, "" if cost is None else "x")
    return truth, said


@given(studies())
def test_a_study_compared_with_itself_shows_no_difference(study: tuple[object, dict[SearchKey, SearchOutcome]]) -> None:
    compared = compare(study[1], study[1], BUDGET)

    assert compared.differences == ()
    assert compared.same == len(study[1])
    assert not compared.worse
    assert not compared.undetermined


@given(studies(), studies())
def test_whatever_is_called_a_change_is_one_of_the_truth(
    first: tuple[dict[SearchKey, float], dict[SearchKey, SearchOutcome]],
    second: tuple[dict[SearchKey, float], dict[SearchKey, SearchOutcome]],
) -> None:
    (was, before), (now, after) = first, second

    for one in compare(before, after, BUDGET).differences:
        if one.change in (Change.NEW, Change.CHEAPER):
            assert now[one.key] < was[one.key]
        if one.change in (Change.GONE, Change.DEARER):
            assert now[one.key] > was[one.key]


@given(studies(), studies())
def test_the_other_way_round_new_is_gone_and_cheaper_is_dearer(
    first: tuple[object, dict[SearchKey, SearchOutcome]], second: tuple[object, dict[SearchKey, SearchOutcome]]
) -> None:
    there, back = compare(first[1], second[1], BUDGET), compare(second[1], first[1], BUDGET)

    for one, other in (
        (Change.NEW, Change.GONE),
        (Change.CHEAPER, Change.DEARER),
        (Change.PROVED, Change.UNPROVED),
        (Change.INCOMPARABLE, Change.INCOMPARABLE),
        (Change.SAME, Change.SAME),
    ):
        assert there.counts[one] == back.counts[other]


@pytest.mark.parametrize(
    ("before", "after", "change", "may_be_worse"),
    [
        (SearchOutcome(None, 2.0), SearchOutcome(1.5, 1.0), Change.NEW, False),
        (SearchOutcome(None, 1.5), SearchOutcome(1.5, 1.0), Change.INCOMPARABLE, True),  # it says nothing of 1.5 itself
        (SearchOutcome(None, 0.0, BUDGET), SearchOutcome(BUDGET), Change.NEW, False),
        (SearchOutcome(2.0, 2.0), SearchOutcome(1.5), Change.CHEAPER, False),
        (SearchOutcome(2.0, 1.0), SearchOutcome(1.5), Change.INCOMPARABLE, True),
        (SearchOutcome(1.5), SearchOutcome(None, 0.0, BUDGET), Change.GONE, False),
        (SearchOutcome(1.5), SearchOutcome(None, 1.0), Change.INCOMPARABLE, False),
        (SearchOutcome(1.5), SearchOutcome(2.0, 2.0), Change.DEARER, False),
        (SearchOutcome(None, 2.0), SearchOutcome(None, 0.0, BUDGET), Change.PROVED, False),
        (SearchOutcome(None, 0.0, BUDGET), SearchOutcome(None, 2.0), Change.UNPROVED, True),
        (SearchOutcome(0.0), SearchOutcome(None, 0.0, BUDGET), Change.GONE, False),
    ],
)
def test_new_is_only_what_was_proved_impossible(
    before: SearchOutcome, after: SearchOutcome, change: Change, may_be_worse: bool
) -> None:
    (one,) = compare({KEY: before}, {KEY: after}, BUDGET).differences

    assert (one.change, one.may_be_worse) == (change, may_be_worse)


def test_what_the_other_study_could_not_have_found_is_not_comparable() -> None:
    before, after = {KEY: SearchOutcome(None, 0.0, BUDGET)}, {KEY: SearchOutcome(1.5, counterexample="abc")}

    compared = compare(before, after, BUDGET, silence=lambda _, found: f"{found.counterexample}: not searched")

    assert [one.note for one in compared.differences] == ["abc: not searched"]
    assert compared.undetermined
    assert not compared.worse


@pytest.mark.parametrize(
    ("cost", "is_held", "change", "may_be_worse"),
    [
        (None, True, Change.NEW, False),
        (None, False, Change.MISSED, False),
        (2.0, False, Change.MISSED, False),
        (2.0, True, Change.INCOMPARABLE, True),  # the first target may break by another schedule of that cost
    ],
)
def test_what_held_on_the_first_target_is_new_and_what_broke_there_was_missed(
    cost: float | None, is_held: bool, change: Change, may_be_worse: bool
) -> None:
    before, after = {KEY: SearchOutcome(cost, 1.0)}, {KEY: SearchOutcome(1.5, counterexample="abc")}

    (one,) = compare(before, after, BUDGET, replayed={KEY: is_held}).differences

    assert (one.change, one.may_be_worse) == (change, may_be_worse)


def test_studies_that_share_nothing_are_undetermined() -> None:
    compared = compare({KEY: SearchOutcome(None)}, {KEY._replace(seed=1): SearchOutcome(None)}, BUDGET)

    assert compared.undetermined
    assert compared.only_before == (KEY,)
    assert compared.only_after == (KEY._replace(seed=1),)
