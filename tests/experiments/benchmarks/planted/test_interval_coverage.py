"""Intervals over tasks hold their value often enough, whatever the tasks are like; those by resampling do not."""

from __future__ import annotations

import pytest

from chaosagent.experiments.benchmarks.planted.interval_coverage import KINDS, coverage, interval_of

pytest.importorskip("numpy", reason="needs the extra `statistics`")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tasks", [5, 20])
def test_intervals_of_a_random_curve_hold_the_value_in_93_of_100(kind: str, tasks: int) -> None:
    # With 700 samples, 93 % less three standard errors.
    assert coverage(kind, tasks, samples=700).least > 0.93 - 0.03


@pytest.mark.slow
def test_intervals_by_resampling_miss_it_where_few_tasks_are_broken() -> None:
    assert coverage("a task is broken, or succeeds in 98 % of runs", 20, samples=60, resampled=True).least < 0.8


def test_of_four_tasks_there_is_no_interval() -> None:
    assert interval_of([20, 20, 20, 0]) == (0.0, 1.0)
