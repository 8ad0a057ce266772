"""The benchmark of trials: the second search is the first one, with runs that cost nothing."""

from __future__ import annotations

import pytest

from chaosagent.experiments.benchmarks.scripted import remembering, six_crossings
from chaosagent.experiments.benchmarks.trials import Ready, given, main, plan_of, recorded
from chaosagent.study.study import Study
from chaosagent.targets.target import Target


@pytest.mark.parametrize("found", [six_crossings, remembering], ids=["plain", "checkpoints"])
@pytest.mark.parametrize("searcher", ["exact", "random", "anytime"])
def test_a_search_with_runs_that_cost_nothing_goes_the_same_way(searcher: str, found: Target) -> None:
    search = recorded(plan_of(searcher, 60, found))

    again, first = (Study(search.plan, Ready(search.told)).run() for _ in range(2))

    assert first.trials == 60
    assert again.digest == first.digest
    assert any(len(evaluation.effective) for evaluation in search.told.values())
    assert all(bool(evaluation.fingerprints) == (found is remembering) for evaluation in search.told.values())


@pytest.mark.parametrize("searcher", ["exact", "anytime"])
def test_checkpoints_are_made_use_of(searcher: str) -> None:
    search = recorded(plan_of(searcher, 300, remembering))

    certificate = Study(search.plan, Ready(search.told)).run().searches[0].certificate

    assert certificate.pruned["R3"] > 0
    assert certificate.level == "C2"


def test_a_searcher_that_costs_nothing_makes_the_same_runs() -> None:
    search = recorded(plan_of("exact", 30))

    loop = given(search)

    schedules = {evaluation.schedule for evaluation in search.told.values()}
    assert {evaluation.schedule for evaluation in loop.told.values()} == schedules


@pytest.mark.slow
def test_the_command_prints_results_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--trials", "20", "--rounds", "1"])

    printed = capsys.readouterr().out
    assert "results a second" in printed
    assert "random, store" in printed
    assert "anytime, store" in printed


@pytest.mark.slow
def test_the_command_measures_with_checkpoints_and_without_the_store(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--trials", "20", "--rounds", "1", "--checkpoints", "--no-store"])

    printed = capsys.readouterr().out
    assert "anytime" in printed
    assert "store" not in printed


@pytest.mark.slow
def test_the_command_measures_optuna_beside(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")

    main(["--trials", "20", "--rounds", "1", "--searcher", "exact", "--optuna", "10", "20"])

    printed = capsys.readouterr().out
    assert "optuna, 10 trials" in printed
    assert "optuna, 20 trials" in printed


@pytest.mark.slow
def test_the_command_shows_where_a_searcher_spends_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--trials", "20", "--profile", "anytime"])

    printed = capsys.readouterr().out
    assert "tottime" in printed
    assert "results a second" not in printed
