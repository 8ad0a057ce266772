"""Sequential tests with fresh runs: they stop when all is clear, and err no more often than declared."""

from __future__ import annotations

import pytest

from chaosagent.seeds import derive
from chaosagent.statistics.sequential import confidence_sequence
from chaosagent.study.chance.confirmation import CleanRuns, Confirmation, Finding, SequentialTest
from chaosagent.study.plan import ErrorRates

RATES = ErrorRates()


def found(share: float, nominal: float, seed: int, rates: ErrorRates = RATES) -> tuple[Finding, int]:
    """Return what a test finds where a schedule and nothing violate in some shares of runs, and after how many."""
    rng, test = derive(seed, "fresh", str(share)), SequentialTest(rates)
    under: list[bool] = []
    without: list[bool] = []
    while test.undecided() and len(under) < rates.runs_max:
        under.append(rng.random() < share)
        without.append(rng.random() < nominal)
        test.take(under, without)
    return test.finding, len(under)


def test_what_always_happens_is_confirmed_after_a_few_runs_and_what_never_does_is_dropped_soon() -> None:
    assert found(1.0, 0.0, 0) == (Finding.LIKELIER, 4)
    assert found(0.0, 0.0, 0) == (Finding.CLOSE, 16)


def test_runs_without_injections_are_not_needed_to_drop_what_never_happens() -> None:
    test = SequentialTest(RATES)

    assert test.take([False] * 15, []) is Finding.OPEN
    assert test.take([False] * 16, []) is Finding.CLOSE


def test_what_is_found_stays_whatever_comes_later() -> None:
    test = SequentialTest(RATES)
    test.take([True] * 10, [False] * 10)
    evidence = test.evidence

    assert test.take([True] * 10 + [False] * 50, [False] * 10 + [True] * 50) is Finding.LIKELIER
    assert test.evidence == evidence


def test_a_test_tells_the_same_whether_it_is_asked_after_each_run_or_at_the_end() -> None:
    under = [True, False, True, True, False, True, True, True]
    without = [False] * 8
    each, whole = SequentialTest(RATES), SequentialTest(RATES)
    for count in range(1, 9):
        each.take(under[:count], without[:count])
    whole.take(under, without)

    assert (each.finding, each.evidence) == (whole.finding, whole.evidence)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.7])
def test_schedules_without_a_part_in_violations_are_confirmed_no_more_often_than_declared(share: float) -> None:
    confirmed = sum(found(share, share, seed)[0] is Finding.LIKELIER for seed in range(300))

    assert confirmed <= 25  # 15 of 300 are allowed on average; more than 25 by chance once in 200


@pytest.mark.slow
@pytest.mark.parametrize(("share", "nominal"), [(0.25, 0.02), (0.4, 0.15), (0.95, 0.7)])
def test_schedules_that_make_violations_likelier_are_dropped_no_more_often_than_declared(
    share: float, nominal: float
) -> None:
    dropped = sum(found(share, nominal, seed)[0] is Finding.CLOSE for seed in range(300))

    assert dropped <= 25


def test_a_confirmation_holds_its_intervals_its_evidence_and_how_much_runs_differ() -> None:
    clear = Confirmation(9, 13, 0, 13, evidence=50.0, alpha=0.03)
    weak = Confirmation(3, 13, 0, 13, evidence=5.0, alpha=0.03)

    assert clear.confirmed
    assert not weak.confirmed
    assert clear.interval == confidence_sequence(9, 13)
    assert clear.instability == pytest.approx(2 * 9 * 4 / (13 * 12))
    assert Confirmation(13, 13, 0, 13, evidence=50.0).instability == 0.0
    assert "instability 0.46" in str(clear)
    assert "that may be chance" in str(weak)
    assert "instability" not in str(Confirmation(6, 20, 4, 20))  # of a record of an earlier version


def test_clean_runs_say_what_they_leave_possible() -> None:
    assert str(CleanRuns(9, 14, 0.05, 1)) == (
        "14 clean runs with other answers of each of 9 classes of schedules run here that ask the models and "
        "do to the world alike, so each violates in less than 0.19 of runs (error 0.05 each); 1 dropped as chance"
    )
    assert str(CleanRuns(9, 14, 0.05, undecided=2)).endswith("(error 0.05 each); 2 undecided")


def test_what_is_undecided_when_the_runs_are_used_up_is_not_called_chance() -> None:
    text = str(Confirmation(3, 13, 0, 13, evidence=5.0, alpha=0.03, undecided=True))

    assert "; undecided" in text
    assert "chance" not in text
