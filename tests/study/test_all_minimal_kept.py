"""A study that wants several counterexamples is kept, goes on after its end of whatever kind, and stays the same."""

from __future__ import annotations

import contextlib
import functools
import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.workers.executor import Finished, InlineExecutor
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.workbench import Job, load_workbench
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.study_store import StudyStore
from chaosagent.targets.loading import load_target

pytestmark = pytest.mark.slow
SPECS = ("all-or-nothing", "promises-kept", "objective")
CONTRACTS = tuple(map(parse_contract, SPECS))
bench = functools.partial(load_workbench, "triage", "naive", SPECS)


def plan(**more: object) -> Plan:
    found = load_target("triage")
    made = Plan(
        target=found,
        target_reference="triage",
        config=found.config("naive"),
        tasks=(found.task("refund-damaged"),),
        seeds=(0, 1),
        contracts=CONTRACTS,
        space=Space((Choices("service.error_status", {"status": (404,)}), Choices("model.refusal", {}))),
        budget=2.2,
        searcher="exact",
        all_minimal=True,
        limits=StudyLimits(trials_max=300),
    )
    return replace(made, **more)  # type: ignore[arg-type]  # the tests know the fields


def essence(result: StudyResult) -> list[object]:
    """What must not depend on where the runs happened, nor on how often the study was ended."""
    return [
        (result.digest, result.trials, result.executions),
        [
            (search.contract, search.trials, search.unreduced, str(search.certificate))
            for search in result.searches
        ],
        [
            (found.id, str(found.signature), str(found.certificate), found.trace.digest, found.minimal)
            for found in result.counterexamples
        ],
    ]  # fmt: skip


def rows(folder: Path) -> list[object]:
    """What stands in a folder of its searches and counterexamples."""
    with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as database:
        queries = ("SELECT * FROM search", "SELECT * FROM counterexample ORDER BY id", "SELECT count(*), '' FROM trial")
        return [[row[:-1] for row in database.execute(query)] for query in queries]  # checksums are of one file


def complete(folder: Path, doing: Plan) -> StudyResult:
    """Run a study in a folder to its end."""
    store = StudyStore.create(folder, doing, "")
    result = Study(doing, InlineExecutor(bench()), sinks=[store]).run()
    store.close(result.digest)
    return result


class DiedError(Exception):
    """The process is gone."""


class Dies(InlineExecutor):
    """Is gone after so many runs."""

    def __init__(self, runs: int) -> None:
        super().__init__(bench())
        self._runs, self.ran, self.watched = runs, 0, 0

    def submit(self, ticket: int, job: Job) -> None:
        self.watched += job.watched
        super().submit(ticket, job)

    def next_finished(self) -> Finished:
        if self.ran >= self._runs:
            raise DiedError
        self.ran += 1
        return super().next_finished()


KINDS = [{"all_minimal": True}, {"all_minimal": False, "signatures": 2}]


@pytest.mark.parametrize("wanted", KINDS)
def test_a_study_that_died_several_times_ends_with_the_same_list(tmp_path: Path, wanted: dict[str, object]) -> None:
    doing = plan(**wanted)
    expected = complete(tmp_path / "whole", doing)
    rng = random.Random(3)

    StudyStore.create(tmp_path / "torn", doing, "").close()
    for _ in range(4):
        store = StudyStore.resume(tmp_path / "torn", doing)
        study = Study(doing, Dies(rng.randrange(80)), sinks=[store], earlier=store.earlier())
        with contextlib.suppress(DiedError):
            study.run()
        store.close()
    store = StudyStore.resume(tmp_path / "torn", doing)
    resumed = Study(doing, InlineExecutor(bench()), sinks=[store], earlier=store.earlier()).run()
    store.close(resumed.digest)

    assert len(expected.counterexamples) > len([search for search in expected.searches if search.counterexamples])
    assert essence(resumed) == essence(expected)
    assert rows(tmp_path / "torn") == rows(tmp_path / "whole")


@pytest.mark.parametrize("wanted", KINDS)
def test_several_may_be_wanted_later_and_nothing_is_run_again(tmp_path: Path, wanted: dict[str, object]) -> None:
    one, several = plan(all_minimal=False), plan(**wanted)
    expected = complete(tmp_path / "several", several)
    cheapest = complete(tmp_path / "one", one)

    store = StudyStore.resume(tmp_path / "one", several)
    executor = Dies(100_000)
    resumed = Study(several, executor, sinks=[store], earlier=store.earlier()).run()
    store.close(resumed.digest)

    again = expected.executions - cheapest.executions
    assert executor.ran - executor.watched < again + cheapest.executions / 4  # a few are repeated each time
    assert essence(resumed) == essence(expected)
    assert rows(tmp_path / "one") == rows(tmp_path / "several")
    for first, later in zip(cheapest.searches, resumed.searches, strict=True):
        assert first.counterexample is None or first.counterexample.cost == later.counterexamples[0].cost


@pytest.mark.parametrize("wanted", KINDS)
def test_worker_processes_find_the_same_list(wanted: dict[str, object]) -> None:
    doing = plan(**wanted)
    here = Study(doing, InlineExecutor(bench())).run()

    with contextlib.closing(ProcessExecutor(bench, workers=2)) as pool:
        there = Study(doing, pool).run()

    assert essence(there) == essence(here)


def test_each_counterexample_has_its_row(tmp_path: Path) -> None:
    doing = plan(budget=1.2, seeds=(0,))

    result = complete(tmp_path, doing)

    (_, kept, _) = rows(tmp_path)
    assert isinstance(kept, list)
    assert {row[0]: (row[4], row[5], row[6]) for row in kept} == {
        found.id: (found.schedule.text, found.cost, str(found.signature)) for found in result.counterexamples
    }
    assert len(kept) == len(result.counterexamples) > 0


def test_a_store_that_has_lost_its_counterexamples_is_mended(tmp_path: Path) -> None:
    doing = plan(budget=1.2, seeds=(0,))
    expected = complete(tmp_path / "new", doing)
    complete(tmp_path / "old", replace(doing, all_minimal=False))
    with contextlib.closing(sqlite3.connect(tmp_path / "old" / FILE_NAME)) as database:
        database.execute("DROP TABLE counterexample")
        database.commit()

    store = StudyStore.resume(tmp_path / "old", doing)
    result = Study(doing, InlineExecutor(bench()), sinks=[store], earlier=store.earlier()).run()
    store.close(result.digest)

    assert essence(result) == essence(expected)
    assert rows(tmp_path / "old") == rows(tmp_path / "new")
