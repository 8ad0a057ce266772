"""A store beside which a journal lies: with what the store has already, it was closed; with more, it was not."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.api.stored.study_facts import study_facts
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StoredDataError
from chaosagent.faults.space import Choices, Space
from chaosagent.study.plan import Plan
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.lock import lock_folder
from chaosagent.study.store.reading import facts_of_closed_store, has_open_journal
from chaosagent.study.store.study_store import StudyStore
from tests.lab.targets.programs import Pay, Program, Read, target_of

PROGRAM = target_of(Program((Read(0, "x", "a"), Pay("a", "a", 1))))
PLAN = Plan(
    target=PROGRAM,
    target_reference="program",
    config=PROGRAM.config("default"),
    tasks=tuple(PROGRAM.tasks.values()),
    seeds=(0,),
    contracts=default_contracts(),
    space=Space([Choices("service.lost_response", {})]),
    budget=2.4,
)


def begun(folder: Path) -> StudyStore:
    return StudyStore.create(folder, PLAN, "target: program\n")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return the store of a study that has ended."""
    begun(tmp_path / "out").close("digest")
    return tmp_path / "out" / FILE_NAME


def look_at(store: Path) -> sqlite3.Connection:
    """Read something, as another program does, and keep the file open."""
    connection = sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)
    connection.execute("SELECT count(*) FROM trial").fetchone()
    return connection


def test_a_store_that_another_program_has_looked_at_is_still_closed(store: Path) -> None:
    look_at(store).close()
    assert store.with_name("study.db-wal").exists(), "SQLite leaves an empty one, as it may not delete it"

    assert "counts" in facts_of_closed_store(store)
    assert study_facts(store.parent).state == "ended"


def test_a_study_that_ends_while_another_program_looks_at_it_is_closed(tmp_path: Path) -> None:
    at_work = begun(tmp_path)
    with closing(look_at(tmp_path / FILE_NAME)):
        at_work.close("digest")

        assert study_facts(tmp_path).state == "ended"
    assert study_facts(tmp_path).state == "ended"


def test_a_store_at_work_or_with_a_journal_that_holds_more_is_not_closed(store: Path, tmp_path: Path) -> None:
    with lock_folder(store.parent), pytest.raises(StoredDataError, match="was killed, or is at work"):
        facts_of_closed_store(store)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("DELETE FROM study WHERE key = 'counts'")
        connection.commit()
        killed = Path(shutil.copytree(store.parent, tmp_path / "killed")) / store.name

    with pytest.raises(StoredDataError, match="was killed, or is at work"):
        facts_of_closed_store(killed)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["write", "copy", "look"]), max_size=8))
def test_a_journal_is_open_as_long_as_the_store_alone_reads_otherwise(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "study.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE rows (number)")
        for number, step in enumerate(steps):
            if step == "write":
                connection.execute("INSERT INTO rows VALUES (?)", [number])
            elif step == "copy":
                connection.execute("PRAGMA wal_checkpoint")
            with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as alone:
                try:
                    told = alone.execute("SELECT number FROM rows").fetchall()
                except sqlite3.Error:
                    told = None

            assert has_open_journal(path) == (told != connection.execute("SELECT number FROM rows").fetchall())
