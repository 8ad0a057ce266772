"""A file of answers gives back what was kept, or nothing, or an error that says what to do."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StoredDataError
from chaosagent.execution.answers_on_disk import AnswersOnDisk, answer_count, repair_answers
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.workers.workbench import Answering, Job, Workbench
from chaosagent.faults.evaluation import Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

KEYS = [bytes([number]) * 32 for number in range(5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    answers = AnswersOnDisk(tmp_path / "answers.db")
    for key in KEYS:
        answers.keep(key, b"answer to " + key)
    return tmp_path / "answers.db"


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def test_what_was_kept_first_stays(path: Path) -> None:
    answers = AnswersOnDisk(path)

    answers.keep(KEYS[0], b"another")

    assert [answers.get(key) for key in KEYS] == [b"answer to " + key for key in KEYS]
    assert AnswersOnDisk(path).get(KEYS[0]) == b"answer to " + KEYS[0]
    assert answers.get(b"new") is None
    assert answer_count(path, answers.mark) == len(KEYS)
    assert repair_answers(path) is None


@pytest.mark.parametrize(
    "change_of",
    [
        ("answer = ? WHERE number = 2", b"another answer"),
        ("answer = CAST(answer AS TEXT) WHERE number = ?", 2),
        ("key = (SELECT key FROM answer WHERE number = 1) WHERE number = ?", 2),
        ("checksum = ? WHERE number = 2", b""),
    ],
)
def test_a_changed_or_moved_answer_is_an_error_and_is_asked_for_again_once_it_is_mended(
    path: Path, change_of: tuple[str, object]
) -> None:
    if change_of[0].startswith("key"):
        change(path, "DELETE FROM answer WHERE number = 1")
        change(path, "UPDATE answer SET key = ? WHERE number = 2", KEYS[0])
    else:
        change(path, f"UPDATE answer SET {change_of[0]}", change_of[1])
    moved = KEYS[0] if change_of[0].startswith("key") else KEYS[1]

    with pytest.raises(
        StoredDataError, match=r"table answer, row with key .*: its checksum does not match\. Delete the"
    ):
        AnswersOnDisk(path).get(moved)
    told = repair_answers(path)

    assert told is not None
    assert "sound and kept, others are asked for again; the damaged file is kept as answers.db.damaged" in str(told)
    assert AnswersOnDisk(path).get(moved) is None
    assert AnswersOnDisk(path).get(KEYS[4]) == b"answer to " + KEYS[4]
    assert repair_answers(path) is None


def test_a_missing_answer_is_missed(path: Path) -> None:
    change(path, "DELETE FROM answer WHERE number = 3")

    with pytest.raises(StoredDataError, match="table answer: row 3 is missing"):
        answer_count(path, "")
    told = repair_answers(path)

    assert told is not None
    assert (told.kept, told.first) == (4, "table answer: row 3 is missing")


def test_answers_that_were_there_when_runs_relied_on_them_are_missed(path: Path) -> None:
    mark = AnswersOnDisk(path).mark
    change(path, "DELETE FROM answer WHERE number = 5")

    with pytest.raises(StoredDataError, match="it is not the file, or not all of it, that the study relies on"):
        answer_count(path, mark)


def test_a_file_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memo.db"
    change(path, "CREATE TABLE answer (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID")

    for use in (lambda: AnswersOnDisk(path).get(b"key"), lambda: repair_answers(path)):
        with pytest.raises(
            StoredDataError,
            match=r"an earlier version of chaosagent wrote it, and nothing would show .* Delete the file",
        ):
            use()


def test_a_file_of_a_later_format_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaosagent.execution.answers_on_disk.FORMAT", 3)

    with pytest.raises(StoredDataError, match="it has format 2; this version of chaosagent reads 3"):
        repair_answers(path)


@pytest.mark.parametrize("data", [b"something else " * 100, b"SQLite format 3\0" + bytes(4080)])
def test_what_is_no_file_of_answers_is_refused_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    path, connect = tmp_path / "memo.db", sqlite3.connect
    path.write_bytes(data)
    opened: list[sqlite3.Connection] = []

    def noted(*given: Any, **terms: Any) -> sqlite3.Connection:
        opened.append(connect(*given, **terms))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)

    for use in (lambda: AnswersOnDisk(path).get(b"key"), lambda: repair_answers(path)):
        with pytest.raises(StoredDataError, match=r"memo\.db: it is damaged, or no file of answers"):
            use()

    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            connection.execute("SELECT 1")
    assert path.read_bytes() == data


def stubborn() -> Target:
    """An agent that believes whatever happens."""

    @target(name="stubborn", tasks=[Task("a")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        model = run.model("assistant", {"chat": lambda prompt: {"content": prompt}})
        try:
            await model("chat", prompt="hello")
        except Exception:
            return Outcome("done all the same", success=True)
        return Outcome("done", success=True)

    return agent


def test_a_run_whose_answers_are_damaged_is_worthless_whatever_the_target_does_about_it(tmp_path: Path) -> None:
    system, path = stubborn(), tmp_path / "answers.db"
    config, contracts = system.config("default"), default_contracts()
    experiment = Experiment(system, system.task("a"), config, 0, contracts, answers=AnswersOnDisk(path))
    assert execute(experiment, EMPTY).evaluation.success
    change(path, "UPDATE answer SET answer = ?", b"\xc0")

    bench = Workbench(system, config, contracts, answers=AnswersOnDisk(path))
    told = bench.evaluate(Job("a", 0, EMPTY, answering=Answering.FROZEN))

    assert told.status is Status.ERROR
    assert "its checksum does not match" in told.error
    with pytest.raises(StoredDataError, match="its checksum does not match"):
        bench.execute(Job("a", 0, EMPTY, answering=Answering.FROZEN))
