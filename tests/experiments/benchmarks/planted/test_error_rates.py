"""Studies of stochastic targets err no more often than they declare; the benchmark's README has it for 200 seeds."""

import pytest

from chaosagent.experiments.benchmarks.planted.error_rates import Case, errors_of, rates

pytestmark = pytest.mark.slow


def test_equal_cases_give_equal_errors() -> None:
    assert errors_of(Case("chance-pair", 3, None)) == errors_of(Case("chance-pair", 3, None))


@pytest.mark.parametrize(("family", "seeds", "false_max"), [("chance-single", 4, 1), ("chance-pair", 3, 1)])
def test_flakes_become_counterexamples_no_more_often_than_declared(family: str, seeds: int, false_max: int) -> None:
    errors = rates([Case(family, seed, 0.1) for seed in range(seeds)])

    assert errors.studies == seeds
    assert errors.false <= false_max  # more by chance in 8 of 1000, and the seeds are always the same


@pytest.mark.parametrize(("family", "seeds", "wrong_max"), [("chance-single", 4, 1), ("chance-pair", 3, 1)])
def test_weaknesses_are_missed_no_more_often_than_declared(family: str, seeds: int, wrong_max: int) -> None:
    errors = rates([Case(family, seed, None) for seed in range(seeds)])

    assert errors.tested >= seeds - wrong_max
    assert errors.false <= wrong_max
    assert errors.missed <= wrong_max
    assert errors.unsolved <= wrong_max
