"""The benchmark of trials: the second search is the first one, with runs that cost nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.experiments.benchmarks.scripted import remembering, six_crossings
from chaosagent.experiments.benchmarks.trials import (
    ITSELF,
    Ready,
    TimedSearcher,
    flat,
    given,
    itself,
    main,
    plan_of,
    recorded,
    timed,
    timed_searcher,
)
from chaosagent.study.loop.study import Study
from chaosagent.study.searcher import KnowsCauses, KnowsOutcomes, Problem
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


@pytest.mark.parametrize("searcher", ["exact", "random", "anytime"])
def test_a_searcher_whose_time_is_taken_makes_the_same_search(searcher: str) -> None:
    search = recorded(plan_of(searcher, 40))

    result = Study(timed(search.plan), Ready(search.told)).run()

    assert result.digest == Study(search.plan, Ready(search.told)).run().digest
    assert len(TimedSearcher.after) == result.trials
    assert sorted(TimedSearcher.after) == TimedSearcher.after
    assert 0.0 < TimedSearcher.after[-1] <= TimedSearcher.seconds


@pytest.mark.slow
@pytest.mark.parametrize(("searcher", "knows"), [("anytime", True), ("exact", False)])
def test_a_searcher_whose_time_is_taken_tells_causes_if_it_knows_them(searcher: str, *, knows: bool) -> None:
    family = FAMILIES["single"].planted(1)
    system = family.target
    tasks, contracts = tuple(system.tasks.values()), (KEPT,)
    plan = replace(
        plan_of(searcher, 120),
        target=system, config=system.config("default"), tasks=tasks, contracts=contracts,
        space=family.space, budget=family.budget,
    )  # fmt: skip
    search = recorded(plan)

    result = Study(timed(plan), Ready(search.told)).run()

    assert result.counterexamples
    assert result.digest == Study(plan, Ready(search.told)).run().digest
    made = timed_searcher(Problem(KEPT.id, 0, family.space, family.budget, 0))
    assert isinstance(made, KnowsCauses) is knows
    assert isinstance(made, KnowsOutcomes)


def test_what_a_searcher_takes_itself_is_told_for_each() -> None:
    searches = {name: recorded(plan_of(name, 20)) for name in ("exact", "random")}

    told = itself(searches, rounds=2)

    assert set(told) == {ITSELF.format("exact"), ITSELF.format("random")}
    assert all(seconds > 0.0 for seconds in told.values())


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
def test_the_command_tells_the_tenths_of_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--trials", "50", "--flat", "exact"])

    printed = capsys.readouterr().out
    tenths = printed.partition("by tenths ")[2].partition(";")[0].split()
    assert "exact, 50 trials" in printed
    assert len(tenths) == 10
    assert "results a second" not in printed


@pytest.mark.parametrize("trials", [1, 7])
def test_a_search_of_few_trials_is_told_one_by_one(trials: int) -> None:
    told = flat("exact", trials, six_crossings)

    parts = [int(part) for part in told.partition("one by one ")[2].partition(";")[0].split()]
    whole = int(told.partition(" trials: ")[2].partition(" us")[0])
    assert len(parts) == trials
    assert all(part >= 0 for part in parts)
    assert sum(parts) / trials == pytest.approx(whole, abs=1.0)


def test_a_search_of_no_trials_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--trials", "0", "--flat", "exact"])

    assert "--trials 0: a search needs at least one trial" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_shows_where_a_searcher_spends_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--trials", "20", "--profile", "anytime"])

    printed = capsys.readouterr().out
    assert "tottime" in printed
    assert "results a second" not in printed
