"""The searcher on Optuna's sampler learns what good schedules have in common, and shows Optuna its trials."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from chaosagent.errors import MissingExtraError, UsageError
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.experiments.benchmarks.planted.arena import job_of, workbench_of
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.experiments.benchmarks.planted.rows import family_of
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import place_of
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.tpe import TpeSearcher
from chaosagent.study.searcher import Problem, Searcher
from chaosagent.study.searcher_settings import check_settings
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Verdict

optuna = pytest.importorskip("optuna")
Margin: TypeAlias = Callable[[Schedule], float]


@functools.cache
def wide() -> tuple[Problem, Workbench]:
    """Return a wide space, 40 places with 14 levels each, and where it is run."""
    planted = family_of("sparse").planted(0)
    return Problem(KEPT.id, 0, planted.space, planted.budget, 0), workbench_of(planted)


def run(schedule: Schedule, margin: Margin) -> Evaluation:
    """Return what a schedule tells, with another margin."""
    verdict = ContractVerdict(KEPT.id, Verdict.HOLDS, margin(schedule))
    return replace(wide()[1].evaluate(job_of(schedule)), verdicts=(verdict,))


def drive(searcher: Searcher, count: int, margin: Margin) -> list[Evaluation]:
    told: list[Evaluation] = []
    while len(told) < count and (proposals := searcher.ask(1)):
        told.append(run(proposals[0].schedule, margin))
        searcher.tell(told[-1])
    return told


def new(**settings: Any) -> TpeSearcher:
    return TpeSearcher(wide()[0], **settings)


def nothing(schedule: Schedule) -> float:
    del schedule
    return 1.0


def share(told: list[Evaluation], margin: Margin) -> float:
    """Return which share of the later half has a low margin."""
    later = told[len(told) // 2 :]
    return sum(margin(evaluation.schedule) < 0.5 for evaluation in later) / len(later)


# ---------------------------------------------------------------------- learning


@pytest.mark.slow
def test_it_comes_back_to_the_place_that_lowers_the_margin() -> None:
    places = sorted({place_of(one) for evaluation in drive(new(), 25, nothing) for one in evaluation.schedule})
    good = places[len(places) // 2]

    def margin(schedule: Schedule) -> float:
        return 0.2 if any(place_of(injection) == good for injection in schedule) else 0.9

    learning, uniform = drive(new(), 160, margin), drive(new(startup=10_000), 160, margin)

    assert share(learning, margin) > 4 * share(uniform, margin) > 0.0


@pytest.mark.slow
def test_it_learns_what_is_good_at_a_place() -> None:
    def margin(schedule: Schedule) -> float:
        return 0.1 if any(injection.operator_name == "service.timeout" for injection in schedule) else 0.9

    learning, uniform = drive(new(), 300, margin), drive(new(startup=10_000), 300, margin)

    assert share(learning, margin) > 2 * share(uniform, margin) > 0.0


@pytest.mark.slow
def test_it_learns_from_schedules_that_it_never_asked_for() -> None:
    log = drive(new(startup=10_000), 60, lambda schedule: 0.2 if len(schedule) == 1 else 0.9)
    indifferent = [replace(evaluation, verdicts=run(evaluation.schedule, nothing).verdicts) for evaluation in log]

    lengths = []
    for told in (log, indifferent):
        searcher = new()
        for evaluation in told:
            searcher.tell(evaluation)
        lengths.append([len(proposal.schedule) for proposal in searcher.ask(20)])

    assert lengths[0].count(1) > 2 * lengths[1].count(1)


@pytest.mark.slow
def test_a_small_window_changes_what_is_asked_only_when_it_is_full() -> None:
    wide, narrow = (
        [evaluation.schedule for evaluation in drive(new(window=window), 60, lambda schedule: 1 / (1 + len(schedule)))]
        for window in (200, 20)
    )

    same = next(number for number, (one, other) in enumerate(zip(wide, narrow, strict=True)) if one != other)
    assert same >= 20  # a trial has at most a few places, and twice the window of them is kept


# ---------------------------------------------------------------------- Optuna's study


@pytest.mark.parametrize("storage", ["sqlite:///{folder}/tpe.db", "{folder}/tpe.journal"])
@pytest.mark.slow
def test_optuna_can_load_the_trials(storage: str, tmp_path: Path) -> None:
    storage = storage.format(folder=tmp_path)

    told = drive(new(storage=storage), 12, nothing)

    where = (
        storage
        if "://" in storage
        else optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(storage))
    )
    (summary,) = optuna.get_all_study_summaries(where)
    study = optuna.load_study(study_name=summary.study_name, storage=where)
    assert study.study_name.startswith(f"{KEPT.id}, seed 0, ")
    assert [trial.user_attrs["schedule"] for trial in study.trials] == [str(evaluation.schedule) for evaluation in told]
    assert [trial.value for trial in study.trials] == [1.0] * 12
    for trial, evaluation in zip(study.trials, told, strict=True):
        assert trial.params["injections"] == len(evaluation.schedule)
        for injection in evaluation.schedule:
            assert trial.params[str(place_of(injection))] in str(injection)


@pytest.mark.slow
def test_a_search_that_is_resumed_writes_no_trial_twice(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/tpe.db"
    told = drive(new(storage=storage), 8, nothing)

    again = new(storage=storage)
    for evaluation in told:
        again.tell(evaluation)
    more = drive(again, 3, nothing)

    (summary,) = optuna.get_all_study_summaries(storage)
    trials = optuna.load_study(study_name=summary.study_name, storage=storage).trials
    assert [trial.user_attrs["schedule"] for trial in trials] == [str(one.schedule) for one in (*told, *more)]


@pytest.mark.slow
def test_other_settings_make_another_study(tmp_path: Path) -> None:
    storage = f"{tmp_path}/tpe.journal"

    drive(new(storage=storage), 2, nothing)
    drive(new(storage=storage, injections_max=2), 2, nothing)

    where = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(storage))
    assert len(optuna.get_all_study_summaries(where)) == 2


@pytest.mark.slow
def test_writing_trials_changes_nothing_of_the_search(tmp_path: Path) -> None:
    with_study, without = drive(new(storage=f"{tmp_path}/a"), 40, nothing), drive(new(), 40, nothing)

    assert with_study == without


def test_a_run_that_failed_is_a_failed_trial(tmp_path: Path) -> None:
    storage = f"{tmp_path}/tpe.journal"
    searcher = new(storage=storage)
    searcher.tell(run(EMPTY, nothing))
    (proposal,) = searcher.ask(1)

    searcher.tell(Evaluation(proposal.schedule, Status.ERROR, "killed"))

    where = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(storage))
    (summary,) = optuna.get_all_study_summaries(where)
    failed = optuna.load_study(study_name=summary.study_name, storage=where).trials[1]
    assert failed.state is optuna.trial.TrialState.FAIL
    assert failed.user_attrs["verdict"] == "error: killed"


def test_a_storage_that_holds_something_else_is_refused_by_its_name(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a journal\n")

    with pytest.raises(UsageError, match=r"tpe\(storage='.*notes.txt'\): cannot be opened: .* by Optuna"):
        new(storage=str(notes))

    assert notes.read_text() == "not a journal\n"


def test_a_storage_that_goes_bad_meanwhile_is_refused_by_its_name(tmp_path: Path) -> None:
    journal = tmp_path / "tpe.journal"
    searcher = new(storage=str(journal))
    journal.write_text("not a journal\n")

    with pytest.raises(UsageError, match=r"tpe\(storage='.*tpe.journal'\): cannot be read or written: "):
        searcher.tell(run(EMPTY, nothing))


# ---------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"injections_max": 0}, r"injections_max is 0; it must be a whole number from 1 to 20\."),
        ({"startup": 0}, r"startup is 0; it must be a whole number from 1 to 10000\."),
        ({"candidates": 2.5}, r"candidates is 2\.5; it must be a whole number from 1 to 10000\."),
        ({"window": 9}, r"window is 9; it must be a whole number from 10 to 10000\."),
        ({"storage": 7}, r"storage is 7; it must be a text\."),
    ],
)
def test_a_bad_setting_is_refused_with_what_is_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings("tpe", TpeSearcher, settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"storage": "nosuch://x"}, r"tpe\(storage='nosuch://x'\): cannot be opened: .*Give a URL such as sqlite:///"),
        ({"storage": "/no/such/folder/x"}, r"cannot be opened: .*the name of a file in a folder that exists"),
    ],
)
def test_a_storage_that_cannot_be_opened_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        new(**settings)


def test_without_optuna_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)

    with pytest.raises(MissingExtraError, match=r"searcher tpe needs optuna.*pip install 'chaosagent\[search\]'"):
        new()
