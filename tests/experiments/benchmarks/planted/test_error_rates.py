"""Studies of stochastic targets err no more often than they declare; the benchmark's README has it for 200 seeds."""

import pytest

from chaosagent.experiments.benchmarks.planted.error_rates import Case, errors_of, rates

pytestmark = pytest.mark.slow


def test_equal_cases_give_equal_errors() -> None:
    assert errors_of(Case("chance-pair", 3, None)) == errors_of(Case("chance-pair", 3, None))


@pytest.mark.parametrize("family", ["chance-single", "chance-pair"])
def test_flakes_become_counterexamples_no_more_often_than_declared(family: str) -> None:
    errors = rates([Case(family, seed, 0.1) for seed in range(8)])

    assert errors.studies == 8
    assert errors.false <= 2  # 0.4 on average; more than 2 by chance in 8 of 1000, and the seeds are always the same


@pytest.mark.parametrize("family", ["chance-single", "chance-pair"])
def test_weaknesses_are_missed_no_more_often_than_declared(family: str) -> None:
    errors = rates([Case(family, seed, None) for seed in range(8)])

    assert errors.tested >= 6
    assert errors.false <= 2
    assert errors.missed <= 2
    assert errors.unsolved <= 2
