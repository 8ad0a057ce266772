"""The store keeps every trial and how each search ended, and never mixes two studies."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import OtherStudyError, StudyError, UsageError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.store.committer import COMMIT_SECONDS, Committer
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.study_store import StudyStore
from tests.lab.targets.programs import Pay, Program, Read, target_of

TRIALS_OF_SEARCHES = """
SELECT task.text, seed.text, contract.text, count(*) FROM trial JOIN name AS task ON task.id = trial.task
JOIN name AS seed ON seed.id = trial.seed JOIN name AS contract ON contract.id = trial.contract GROUP BY 1, 2, 3
"""


@pytest.fixture
def plan() -> Plan:
    system = target_of(Program((Read(0, "x", "a"), Pay("a", "a", 1))))
    return Plan(
        target=system,
        target_reference="program",
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0, 2**70),
        contracts=default_contracts(),
        space=Space([Choices("service.lost_response", {}), Choices("service.field_corruption", {"kind": ("null",)})]),
        budget=2.4,
    )


def run(plan: Plan, store: StudyStore) -> StudyResult:
    bench = Workbench(plan.target, plan.config, plan.contracts)
    return Study(plan, InlineExecutor(bench), sinks=[store]).run()


def test_every_trial_and_every_search_is_in_the_store(tmp_path: Path, plan: Plan) -> None:
    store = StudyStore.create(tmp_path / "out", plan, "target: program\n")
    result = run(plan, store)
    store.close(result.digest)

    with closing(sqlite3.connect(tmp_path / "out" / FILE_NAME)) as database:
        (sound,) = database.execute("PRAGMA integrity_check").fetchone()
        orphans = database.execute("PRAGMA foreign_key_check").fetchall()
        trials = database.execute(TRIALS_OF_SEARCHES).fetchall()
        numbers = database.execute("SELECT min(number), max(number), count(*) FROM trial GROUP BY task, seed, contract")
        searches = database.execute("SELECT task, seed, contract, trials, certified, cost, schedule FROM search")
        told = {(search.task_id, str(search.seed), search.contract): search for search in result.searches}

        assert (sound, orphans) == ("ok", [])
        assert {tuple(row[:3]): row[3] for row in trials} == {key: search.trials for key, search in told.items()}
        assert all(low == 0 and high == count - 1 for low, high, count in numbers)
        for task, seed, contract, count, certified, cost, schedule in searches:
            search = told.pop((task, seed, contract))
            assert count == search.trials
            assert bool(certified) == search.certificate.certified
            assert cost == (search.counterexample and search.counterexample.cost)
            assert schedule == (search.counterexample and search.counterexample.schedule.text)
        assert not told
        assert ("digest", result.digest) in database.execute("SELECT key, value FROM study").fetchall()
    assert (tmp_path / "out" / "study.yaml").read_text() == "target: program\n"


def test_what_was_told_before_an_interrupt_is_kept(tmp_path: Path, plan: Plan) -> None:
    store = StudyStore.create(tmp_path, plan, "")
    run(plan, store)  # and is not closed before the file is looked at, as when the process dies

    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


def test_a_folder_that_holds_a_study_is_refused(tmp_path: Path, plan: Plan) -> None:
    StudyStore.create(tmp_path, plan, "").close()

    with pytest.raises(UsageError, match="holds a study already"):
        StudyStore.create(tmp_path, plan, "")


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match=r"cannot store a study there: .* Choose another --out"):
        StudyStore.create(tmp_path / "file" / "out", plan, "")


def test_a_store_that_fails_later_ends_the_study(tmp_path: Path, plan: Plan) -> None:
    store = StudyStore.create(tmp_path, plan, "")
    store._connection.execute("DROP TABLE trial")

    with pytest.raises(StudyError, match=r"cannot be written: no such table.*continue with --resume"):
        run(plan, store)
    store.give_up()
    store.close("digest")  # says nothing more of it

    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        assert database.execute("SELECT key FROM study WHERE key IN ('failed', 'ended')").fetchall() == []


def test_a_store_that_cannot_be_begun_leaves_nothing_behind(tmp_path: Path, plan: Plan) -> None:
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        def executescript(self, script: str, /) -> sqlite3.Cursor:
            raise sqlite3.OperationalError(f"disk is full: {script[:5]}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda path, **terms: connect(path, factory=Full, **terms))
        with pytest.raises(UsageError, match=r"cannot store a study there: disk is full: BEGIN\. Choose another --out"):
            StudyStore.create(tmp_path, plan, "text")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.lock"]


def test_an_ended_study_makes_room_for_the_same_study_again(tmp_path: Path, plan: Plan) -> None:
    StudyStore.create(tmp_path, plan, "").close("digest")

    StudyStore.remove(tmp_path, plan)

    StudyStore.create(tmp_path, plan, "").close("digest")


def test_an_unfinished_study_is_not_thrown_away(tmp_path: Path, plan: Plan) -> None:
    store = StudyStore.create(tmp_path, plan, "")
    run(plan, store)
    store.close()

    with pytest.raises(UsageError, match=r"holds an unfinished run of this study\. Go on with it \(--resume\)"):
        StudyStore.remove(tmp_path, plan)

    StudyStore.resume(tmp_path, plan).close("digest")


def test_a_study_that_has_run_nothing_is_not_in_the_way_of_the_next(tmp_path: Path, plan: Plan) -> None:
    StudyStore.create(tmp_path, plan, "").close()

    StudyStore.remove(tmp_path, plan)

    assert not (tmp_path / FILE_NAME).exists()


def test_a_study_that_was_given_up_is_not_in_the_way_until_somebody_resumes_it(tmp_path: Path, plan: Plan) -> None:
    store = StudyStore.create(tmp_path, plan, "")
    run(replace(plan, seeds=(0,)), store)
    store._execute("DELETE FROM search")  # as if no search had come to its end
    store.give_up()
    store.close()
    StudyStore.resume(tmp_path, plan).close()

    with pytest.raises(UsageError, match="holds an unfinished run of this study"):
        StudyStore.remove(tmp_path, plan)

    resumed = StudyStore.resume(tmp_path, plan)
    resumed.give_up()
    resumed.close()
    StudyStore.remove(tmp_path, plan)
    assert not (tmp_path / FILE_NAME).exists()


def test_finished_searches_are_not_thrown_away_because_a_later_one_failed(tmp_path: Path, plan: Plan) -> None:
    store = StudyStore.create(tmp_path, plan, "")
    run(plan, store)
    store.give_up()
    store.close()

    with pytest.raises(UsageError, match="holds an unfinished run of this study"):
        StudyStore.remove(tmp_path, plan)


def test_another_study_is_not_thrown_away(tmp_path: Path, plan: Plan) -> None:
    StudyStore.create(tmp_path, plan, "").close("digest")

    with pytest.raises(OtherStudyError, match="holds another study"):
        StudyStore.remove(tmp_path, replace(plan, budget=1.5))
    with pytest.raises(OtherStudyError, match="holds another study"):
        StudyStore.resume(tmp_path, replace(plan, contracts=plan.contracts[:1]))


def test_what_is_no_store_is_left_alone(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "study.db").write_bytes(b"something else entirely, " * 100)

    with pytest.raises(UsageError, match=r"study\.db: it is no store of a study, or damaged"):
        StudyStore.remove(tmp_path, plan)

    assert (tmp_path / "study.db").read_bytes().startswith(b"something else")


def test_files_that_cannot_be_looked_at_for_a_while_are_not_taken_to_be_gone(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("CREATE TABLE kept (row)")
        committer = Committer(connection, (path,))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "stat", Mock(side_effect=PermissionError))
            with committer.lock:
                connection.execute("INSERT INTO kept VALUES (1)")
            threading.Event().wait(3 * COMMIT_SECONDS)
        committer.stop()

        assert committer.gone is None
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("SELECT row FROM kept").fetchall() == [(1,)]
