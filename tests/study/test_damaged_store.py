"""A damaged store or file of frozen answers changes no result: it is repaired, or refused with what to do."""

from __future__ import annotations

import os
import sqlite3
import stat
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StoredDataError, UsageError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.store.files import ANSWERS_NAME, FILE_NAME
from chaosagent.study.store.reading import open_closed_store
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from tests.lab.damage.attack import attack_answers, attack_store
from tests.lab.damage.stores import payer
from tests.lab.targets.programs import Pay, Program, Read, target_of
from tests.thorough import part_of

CONTRACTS = tuple(one for one in default_contracts() if one.id in {"at-most-once", "no-extra-effects"})


def plan_in(folder: Path, *, stochastic: bool = False) -> Plan:
    system = payer if stochastic else target_of(Program((Read(0, "x", "a"), Pay("a", "a", 1))))
    return Plan(
        target=system,
        target_reference="program",
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=CONTRACTS,
        space=Space([Choices("service.lost_response", {}), Choices("service.field_corruption", {"kind": ("null",)})]),
        budget=1.2 if stochastic else 2.4,
        stochastic=stochastic,
        confirmations=5,
        answers=folder / ANSWERS_NAME if stochastic else None,
    )


def complete(folder: Path, plan: Plan) -> StudyResult:
    store = StudyStore.create(folder, plan, "")
    result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store]).run()
    store.close(result.digest)
    return result


def resumed(folder: Path, plan: Plan) -> tuple[StudyResult, tuple[str, ...]]:
    """Resume a study and return its result, and what its store remarks."""
    store = StudyStore.resume(folder, plan)
    result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], earlier=store.earlier()).run()
    store.close(result.digest)
    return result, store.remarks


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def value(path: Path, query: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchone()[0]


def said(result: StudyResult) -> list[object]:
    return [
        result.digest,
        [(str(one.certificate), [found.id for found in one.counterexamples]) for one in result.searches],
    ]


def flip_verdicts(path: Path) -> None:
    """Say in each run that each contract holds, as six flipped bytes once did."""
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = connection.execute("SELECT id, data FROM part").fetchall()
        for number, data in rows:
            changed = zlib.compress(zlib.decompress(data).replace(b"at-most-once\x02", b"at-most-once\x00"))
            connection.execute("UPDATE part SET data = ? WHERE id = ?", (changed, number))


SWAPPED = "(SELECT evaluation FROM execution WHERE id = 1)"


@pytest.mark.parametrize(
    "damage",
    [
        flip_verdicts,
        lambda path: change(path, f"UPDATE execution SET evaluation = {SWAPPED} WHERE id = 2"),
        lambda path: change(path, "UPDATE execution SET task = seed WHERE id = 2"),
        lambda path: change(path, "UPDATE name SET text = 'other' WHERE text = 'only'"),
        lambda path: change(path, "DELETE FROM name WHERE text = 'only'"),
        lambda path: change(path, "DELETE FROM name WHERE id = (SELECT max(id) FROM name)"),
        lambda path: change(path, "UPDATE name SET id = 1000 WHERE id = (SELECT max(id) FROM name)"),
        lambda path: change(path, "UPDATE execution SET schedule = '1,2' WHERE id = 2"),
        lambda path: change(path, "UPDATE execution SET schedule = 'x' WHERE id = 2"),
        lambda path: change(path, "DELETE FROM part WHERE id = (SELECT max(id) FROM part)"),
        lambda path: change(path, "UPDATE part SET id = 1000 WHERE id = 1"),
        lambda path: change(path, "UPDATE part SET count = count + 1"),
        lambda path: change(path, "UPDATE execution SET evaluation = NULL WHERE id = 2"),
        lambda path: change(path, "UPDATE execution SET id = 1000 WHERE id = 2"),
        lambda path: change(path, "DELETE FROM execution WHERE id = 2"),
        lambda path: change(path, "UPDATE trial SET verdict = 0 WHERE verdict <> 0"),
        lambda path: change(path, "DELETE FROM trial WHERE number = 1"),
        lambda path: change(path, "UPDATE search SET lower_bound = 9.0, certified = 1"),
        lambda path: change(path, "UPDATE counterexample SET cost = 0.5"),
        lambda path: change(path, "DROP TABLE search"),
        lambda path: change(path, "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END"),
    ],
)
def test_damaged_rows_are_run_again_and_the_result_is_the_same(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    plan, path = plan_in(tmp_path), tmp_path / FILE_NAME
    expected = complete(tmp_path, plan)
    trials = value(path, "SELECT count(*) FROM trial")
    damage(path)

    result, remarks = resumed(tmp_path, plan)

    assert said(result) == said(expected)
    assert len(remarks) == 1
    assert "study.db was damaged (" in remarks[0]
    assert "runs are sound and kept, others are run again; the damaged file is kept as study.db.damaged" in remarks[0]
    assert value(path, "SELECT count(*) FROM trial") == trials
    with open_closed_store(path) as store:
        assert store.facts["digest"] == expected.digest
    assert resumed(tmp_path, plan)[1] == ()


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("UPDATE study SET value = '0' WHERE key = 'stochastic'", "row with key 'stochastic'"),
        ("DELETE FROM study WHERE key = 'code'", "table study: a row of it is missing"),
        ("DELETE FROM study WHERE key = 'keys'", "table study: a row of it is missing"),
        ("DELETE FROM study WHERE key = 'id'", "table study: the row with key 'id' is missing"),
        ("UPDATE study SET key = 'plan2' WHERE key = 'plan'", "row with key 'plan2': its checksum does not match"),
        ("DROP TABLE study", "it is no store of a study, or its tables are damaged"),
    ],
)
def test_a_store_that_does_not_say_any_more_of_which_study_it_is_is_refused(
    tmp_path: Path, statement: str, place: str
) -> None:
    plan = plan_in(tmp_path)
    complete(tmp_path, plan)
    change(tmp_path / FILE_NAME, statement)

    for use in (lambda: StudyStore.resume(tmp_path, plan), lambda: StudyStore.remove(tmp_path, plan)):
        with pytest.raises(StoredDataError, match=rf"study\.db.*{place}.* Choose another --out, or delete"):
            use()


@pytest.mark.parametrize("statement", ["DELETE FROM differing", "UPDATE differing SET task = 'other'"])
def test_that_a_run_diverged_is_not_forgotten(tmp_path: Path, statement: str) -> None:
    plan = plan_in(tmp_path)
    store = StudyStore.create(tmp_path, plan, "")
    store.differed(TaskSeed("only", 0), "without injections, elsewhere")
    store.differed(TaskSeed("only", 0), "without injections, at service:s0[1]")  # once more is known
    store.close()
    StudyStore.resume(tmp_path, plan).close()
    change(tmp_path / FILE_NAME, statement)

    with pytest.raises(StoredDataError, match="a row is damaged or missing that says which runs diverged"):
        StudyStore.resume(tmp_path, plan)


def test_fresh_runs_behind_a_missing_one_are_made_again(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    store = StudyStore.create(tmp_path, plan, "")
    told = Study(plan, InlineExecutor(plan.workbench()), sinks=[store]).run()
    evaluation = next(evaluation for _, evaluation in store.earlier().evaluations(()))
    for number in range(4):
        store.drawn(TaskSeed("only", 0), number, evaluation)
    store.close(told.digest)
    change(tmp_path / FILE_NAME, "DELETE FROM draw WHERE number = 1")

    store = StudyStore.resume(tmp_path, plan)
    [kept] = store.earlier().drawn.values()
    store.close()

    assert len(kept) == 1
    assert "table draw: it has 3 rows, and had 4" in store.remarks[0]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answer SET answer = x'c0' WHERE number = 2",
        "DELETE FROM answer WHERE number = (SELECT max(number) FROM answer)",
    ],
)
def test_runs_that_relied_on_a_lost_answer_are_made_again(tmp_path: Path, damage: str) -> None:
    plan = plan_in(tmp_path, stochastic=True)
    expected = complete(tmp_path, plan)
    answers = value(tmp_path / ANSWERS_NAME, "SELECT count(*) FROM answer")
    change(tmp_path / ANSWERS_NAME, damage)

    result, remarks = resumed(tmp_path, plan)

    assert said(result) == said(expected)
    assert "answers.db" in remarks[0]
    assert "relied on all answers, so they are made again" in remarks[-1]
    assert value(tmp_path / ANSWERS_NAME, "SELECT count(*) FROM answer") == answers
    assert resumed(tmp_path, plan)[1] == ()


def test_a_study_whose_answers_are_gone_is_refused(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, stochastic=True)
    complete(tmp_path, plan)
    (tmp_path / ANSWERS_NAME).unlink()

    with pytest.raises(StoredDataError, match=r"answers\.db: it is missing, and the runs in .*study\.db rely on it"):
        StudyStore.resume(tmp_path, plan)


def test_a_damaged_store_is_not_read_as_if_it_were_sound(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    store = StudyStore.create(tmp_path, plan, "")
    with (
        pytest.raises(StoredDataError, match="its study was killed, or is at work"),
        open_closed_store(tmp_path / FILE_NAME),
    ):
        pass
    store.close()
    flip_verdicts(tmp_path / FILE_NAME)
    with open_closed_store(tmp_path / FILE_NAME):
        pass  # there was nothing to flip

    StudyStore.remove(tmp_path, plan)
    complete(tmp_path, plan)
    flip_verdicts(tmp_path / FILE_NAME)

    with (
        pytest.raises(StoredDataError, match="--resume` takes over what is sound"),
        open_closed_store(tmp_path / FILE_NAME),
    ):
        pass


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """All connections that are opened."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*given: object, **terms: object) -> sqlite3.Connection:
        opened.append(connect(*given, **terms))  # type: ignore[call-overload]  # handed on
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    return opened


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"something else entirely, " * 1000),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: change(path, "DELETE FROM study"),
        lambda path: change(path, "DROP TABLE study"),
    ],
)
def test_a_store_that_cannot_be_opened_is_closed_and_unlocked(
    tmp_path: Path, connections: list[sqlite3.Connection], damage: Callable[[Path], None]
) -> None:
    plan = plan_in(tmp_path)
    complete(tmp_path, plan)
    damage(tmp_path / FILE_NAME)
    del connections[:]

    for use in (lambda: StudyStore.resume(tmp_path, plan), lambda: StudyStore.remove(tmp_path, plan)) * 2:
        with pytest.raises(StoredDataError, match=r"study\.db.* Choose another --out, or delete"):
            use()

    assert connections
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            connection.execute("SELECT 1")


def test_an_unfinished_study_of_another_version_is_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_in(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("chaosagent.study.store.facts.version_of_store", lambda: "0.0.9, store format 5")
        complete(tmp_path, plan)
        StudyStore.resume(tmp_path, plan).close()

    with pytest.raises(UsageError, match="another version of chaosagent, which this one cannot resume"):
        StudyStore.remove(tmp_path, plan)


def test_store_and_answers_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        plan = plan_in(tmp_path, stochastic=True)
        store = StudyStore.create(tmp_path, plan, "")
        Study(plan, InlineExecutor(plan.workbench()), sinks=[store]).run()
        private = [path for path in tmp_path.iterdir() if ".db" in path.name]
        modes = {stat.S_IMODE(path.stat().st_mode) for path in private}
        store.close()
        flip_verdicts(tmp_path / FILE_NAME)
        change(tmp_path / ANSWERS_NAME, "DELETE FROM answer WHERE number = 1")
        StudyStore.resume(tmp_path, plan).close()
    finally:
        os.umask(before)

    assert {path.name for path in private} == {"study.db", "study.db-wal", "study.db-shm", "answers.db"}
    assert modes == {0o600}
    kept = [path for path in tmp_path.iterdir() if ".db" in path.name]
    assert "study.db.damaged" in {path.name for path in kept}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


@pytest.mark.slow
def test_of_many_damaged_files_none_ends_wrongly() -> None:
    """The attack in full: `python -m tests.lab.damage --stores 2000 --answers 2000`."""
    cases = [*map(attack_store, range(part_of(18))), *map(attack_answers, range(part_of(18)))]

    assert [case for case in cases if case.is_wrong] == []
    assert len({case.outcome for case in cases}) == 2
