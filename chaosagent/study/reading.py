"""Reading evaluations from a store, each checked against its checksum."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from chaosagent.errors import ChaosAgentError, StoredDataError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.sqlite_file import SQLITE_ERRORS, text_of
from chaosagent.study.evaluator import Experimental
from chaosagent.study.facts import Facts, read_facts
from chaosagent.study.mending import damage_in
from chaosagent.study.schema import KEYS, row_place
from chaosagent.study.stored import decode_evaluation

REMEDY = "`chaosagent search --resume` takes over what is sound, and runs the rest again."


class StoredEvaluation(NamedTuple):
    """One run in a store: of which task, seed and world, and what it told."""

    at: Experimental
    evaluation: Evaluation


class EndedStore(NamedTuple):
    """A store that was closed, opened to be read."""

    connection: sqlite3.Connection
    path: Path
    facts: Facts

    def evaluations(self, table: str) -> Iterator[StoredEvaluation]:
        """Yield the evaluations of a table; see `checked_evaluations`."""
        return checked_evaluations(self.connection, self.path, self.facts, table)


def checked_evaluations(
    connection: sqlite3.Connection, path: Path, facts: Facts, table: str
) -> Iterator[StoredEvaluation]:
    """Yield the evaluations of a table, in the order of its key; rows that keep none, for secrets, are left out.

    Args:
        connection: To the store.
        path: Of the store, for messages.
        facts: Of the store.
        table: `"execution"` or `"draw"`.

    Raises:
        StoredDataError: A row is damaged.
    """
    try:
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY {', '.join(KEYS[table])}"):
            if not facts.checksums.match(table, row):
                raise StoredDataError(str(path), row_place(table, row), "its checksum does not match", REMEDY)
            if row[-2] is not None:
                yield _decoded(row, path, table)
    except SQLITE_ERRORS as error:
        raise StoredDataError(str(path), f"table {table}", str(error), REMEDY) from error


def _decoded(row: tuple[Any, ...], path: Path, table: str) -> StoredEvaluation:
    task, seed, world = row[1:4] if table == "execution" else (*row[:2], 0)
    try:
        return StoredEvaluation(Experimental(task, int(seed), world), decode_evaluation(row[-2]))
    except (ChaosAgentError, ValueError, TypeError, LookupError, msgpack.exceptions.UnpackException) as error:
        what = f"its evaluation cannot be read, though its checksum matches: {type(error).__name__}: {error}"
        raise StoredDataError(str(path), row_place(table, row), what, REMEDY) from error


@contextlib.contextmanager
def opened_to_read(path: Path) -> Iterator[EndedStore]:
    """Open the store of a study that was closed, to read it, and check it as a whole; nothing is written.

    Raises:
        StoredDataError: It is damaged, of another version, or was not closed.
    """
    try:
        with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            connection.text_factory = text_of
            facts = read_facts(connection, path, REMEDY)
            if "counts" not in facts:
                raise StoredDataError(str(path), "", "its study was killed, or is at work", REMEDY)
            damage = damage_in(connection, facts)
            if damage:
                raise StoredDataError(str(path), "", damage, REMEDY)
            yield EndedStore(connection, path, facts)
    except SQLITE_ERRORS as error:
        raise StoredDataError(str(path), "", f"it is no store of a study, or damaged: {error}", REMEDY) from error


def read_only_uri(path: Path) -> str:
    """Return how SQLite is to open a store that is only read.

    A closed store is read as it lies, so that nothing is written beside it; a killed one needs its journal.
    """
    mode = "mode=rw" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    return f"{path.resolve().as_uri()}?{mode}"
