"""Hypothesis drives as a searcher: it climbs, shrinks, needs nothing but what was told, and disturbs nobody."""

from __future__ import annotations

import gc
import importlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaosagent.errors import MissingExtraError, UsageError
from chaosagent.experiments.benchmarks.planted.arena import job_of, workbench_of
from chaosagent.experiments.benchmarks.planted.family import KEPT, Planted
from chaosagent.experiments.benchmarks.planted.rows import family_of
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.hypothesis import HypothesisSearcher
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.searchers import BUDGET, bench
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Verdict


def searcher(planted: Planted, **settings: Any) -> HypothesisSearcher:
    return HypothesisSearcher(Problem(KEPT.id, 0, planted.space, planted.budget, 0), **settings)


def drive(driven: HypothesisSearcher, count: int, run: Callable[[Schedule], Evaluation]) -> list[Evaluation]:
    told: list[Evaluation] = []
    while len(told) < count and (proposals := driven.ask(1)):
        told.append(run(proposals[0].schedule))
        driven.tell(told[-1])
    return told


def runner(planted: Planted) -> Callable[[Schedule], Evaluation]:
    workbench = workbench_of(planted)
    return lambda schedule: workbench.evaluate(job_of(schedule))


def with_margin(told: Evaluation, margin: float) -> Evaluation:
    return replace(told, verdicts=(ContractVerdict(KEPT.id, Verdict.HOLDS, margin),))


# ---------------------------------------------------------------------- climbing and shrinking


@pytest.mark.slow
def test_on_and_off_may_be_what_yaml_makes_of_them() -> None:
    planted = family_of("single").planted(1)

    def asked(shrinker: bool | str) -> list[Schedule]:
        told = drive(searcher(planted, shrinker=shrinker, examples=100), 60, runner(planted))
        return [evaluation.schedule for evaluation in told]

    on, off = asked(True), asked(False)
    assert on != off
    assert off == asked("off")


@pytest.mark.slow
def test_it_climbs_towards_small_margins() -> None:
    planted = family_of("magnitudes").planted(0)
    run = runner(planted)

    def margin(schedule: Schedule) -> float:
        return 1.0 - min(1.0, schedule.declared_cost(planted.space.model) / planted.budget)

    def second_half(told: list[Evaluation]) -> float:
        """Return the mean margin in the second half of the first round, which climbs; repeats are not run again."""
        return sum(margin(evaluation.schedule) for evaluation in told[45:75]) / 30

    climbing, wandering = searcher(planted, examples=100), searcher(planted, examples=100)
    climbed = drive(climbing, 75, lambda schedule: with_margin(run(schedule), margin(schedule)))
    wandered = drive(wandering, 75, lambda schedule: with_margin(run(schedule), 1.0))

    assert [one.schedule for one in climbed[:10]] == [one.schedule for one in wandered[:10]]
    assert second_half(climbed) < 0.5 * second_half(wandered)


@pytest.mark.slow
def test_its_shrinker_makes_a_violation_cheaper_without_the_study() -> None:
    planted = family_of("single").planted(1)

    def cheapest(shrinker: str) -> list[float]:
        told = drive(searcher(planted, shrinker=shrinker, examples=100), 150, runner(planted))
        first = next(number for number, evaluation in enumerate(told) if violates(evaluation, KEPT.id))
        return [
            evaluation.effective.declared_cost(planted.space.model)
            for evaluation in told[first : first + 25]
            if violates(evaluation, KEPT.id)
        ]

    shrunk, left = cheapest("on"), cheapest("off")

    assert shrunk[0] == left[0]  # until the first violation they do the same
    assert shrunk == sorted(shrunk, reverse=True)
    assert min(shrunk) <= min(left)
    assert min(shrunk) < shrunk[0]


@pytest.mark.slow
def test_what_the_study_has_shrunk_is_not_shrunk_again() -> None:
    planted = family_of("single").planted(1)
    run, minimal = runner(planted), planted.minima[0]
    alone, helped = searcher(planted, examples=100), searcher(planted, examples=100)
    told = drive(alone, 60, run)
    first = next(number for number, evaluation in enumerate(told) if violates(evaluation, KEPT.id))

    for evaluation in told[: first + 1]:
        helped.tell(evaluation)
    helped.tell(run(minimal))
    more = drive(helped, 30, run)

    cost = minimal.declared_cost(planted.space.model)
    assert all(evaluation.schedule.declared_cost(planted.space.model) < cost for evaluation in more)
    assert any(evaluation.schedule.declared_cost(planted.space.model) > cost for evaluation in told[first + 1 :])


# ---------------------------------------------------------------------- state


def test_it_leaves_nothing_where_the_user_works_and_other_tests_their_folder(tmp_path: Path) -> None:
    script = (
        "import hypothesis, hypothesis.configuration as configuration\n"
        "from chaosagent.searchers.hypothesis import HypothesisSearcher\n"
        "from chaosagent.testing.searchers import BUDGET, bench\n"
        "before = configuration.storage_directory('constants').path\n"
        "searcher = HypothesisSearcher(bench().problem('rare-needle', BUDGET), examples=10)\n"
        "for _ in range(8):\n"
        "    searcher.tell(bench().run(searcher.ask(1)[0].schedule))\n"
        "assert configuration.storage_directory('constants').path == before\n"
    )

    environment = {**os.environ, "TMPDIR": str(tmp_path / "passing")}
    environment.pop("HYPOTHESIS_STORAGE_DIRECTORY", None)
    (tmp_path / "passing").mkdir()
    (tmp_path / "here").mkdir()
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "here", env=environment, check=True)

    assert list((tmp_path / "here").iterdir()) == []
    assert list((tmp_path / "passing").iterdir()) == []


@pytest.mark.slow
def test_what_was_told_without_being_asked_is_answered_from_the_log() -> None:
    problem = bench().problem("rare-needle", BUDGET)
    first = HypothesisSearcher(problem)
    log = drive(first, 30, bench().run)

    second = HypothesisSearcher(problem)
    second.tell(log[0])
    for evaluation in reversed(log[1:]):
        second.tell(evaluation)

    schedules = {evaluation.schedule for evaluation in log}
    assert not {evaluation.schedule for evaluation in drive(second, 10, bench().run)} & schedules


@pytest.mark.slow
def test_one_trial_is_in_flight_at_most() -> None:
    driven = HypothesisSearcher(bench().problem("rare-needle", BUDGET))

    assert [proposal.schedule for proposal in driven.ask(16)] == [EMPTY]
    assert driven.ask(16) == []
    driven.tell(bench().run(EMPTY))
    assert len(driven.ask(16)) == 1
    assert driven.ask(16) == []


@pytest.mark.slow
def test_what_is_drawn_does_not_depend_on_the_numbers_in_the_code_around(monkeypatch: pytest.MonkeyPatch) -> None:
    providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
    problem = bench().problem("rare-needle", BUDGET)
    usual = [evaluation.schedule for evaluation in drive(HypothesisSearcher(problem), 15, bench().run)]

    monkeypatch.setattr(
        providers, "_get_local_constants", lambda: providers.Constants(integers=providers.SortedSet(range(1, 30)))
    )
    providers.CONSTANTS_CACHE.cache.clear()
    elsewhere = [evaluation.schedule for evaluation in drive(HypothesisSearcher(problem), 15, bench().run)]
    providers.CONSTANTS_CACHE.cache.clear()

    assert elsewhere == usual


@pytest.mark.slow
def test_the_draws_of_others_are_left_alone() -> None:
    driven = HypothesisSearcher(bench().problem("rare-needle", BUDGET))
    random.setstate(random.Random(7).getstate())
    expected = random.Random(7).random()

    drive(driven, 5, bench().run)

    assert random.getstate() == random.Random(7).getstate()
    assert random.Random(7).random() == expected


@pytest.mark.slow
def test_its_thread_ends_when_it_is_dropped() -> None:
    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "conversation"}

    of_others = threads()
    driven = HypothesisSearcher(bench().problem("rare-needle", BUDGET))
    drive(driven, 3, bench().run)
    assert len(threads() - of_others) == 1

    del driven
    gc.collect()

    assert threads() <= of_others


# ---------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"injections_max": 21}, r"injections_max is 21; it must be a whole number from 1 to 20\."),
        ({"examples": 9}, r"examples is 9; it must be a whole number from 10 to 100000\."),
        ({"shrinker": "maybe"}, "shrinker is 'maybe'; it must be one of 'on', 'off', true, false"),
    ],
)
def test_a_bad_setting_is_refused_with_what_is_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings("hypothesis", HypothesisSearcher, settings)


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)

    with pytest.raises(MissingExtraError, match=r"searcher hypothesis needs hypothesis.*'chaosagent\[search\]'"):
        HypothesisSearcher(bench().problem("rare-needle", BUDGET))
