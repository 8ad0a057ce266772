"""Frozen answers in a file that the processes of a machine share.

Each answer has a number, counted from 1, and a checksum of number, key and answer; see
`chaosagent.sqlite_file`. A damaged answer is never given: `repair_answers` removes it, so that it is asked for
again, and one that is damaged later is an error.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from chaosagent.errors import StoredDataError, StudyError, UsageError
from chaosagent.sqlite_file import (
    MENDING,
    SQLITE_ERRORS,
    Checksums,
    Repaired,
    complaint_about,
    new_file_id,
    objects_in,
    objects_of,
    open_private,
    readable_rows,
    remove_file,
    replace_damaged,
)

BUSY_SECONDS = 60.0
FORMAT = 2
"""Of the file; since 2 answers hold their checksums."""

SCHEMA = """
CREATE TABLE file (id TEXT PRIMARY KEY, format INTEGER NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE answer (
    number INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    answer BLOB NOT NULL,
    checksum BLOB NOT NULL
);
"""
REMEDY = "Delete the file, or name another one; what it held is asked for again then."
Result = TypeVar("Result")


class AnswersOnDisk:
    """Answers in an SQLite file that several processes of a machine share.

    Args:
        path: Of the file; made when the first answer is kept.

    Raises:
        StoredDataError: From its methods: the file is damaged, or of another version.
        StudyError: From its methods: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: _Opened | None = None
        self._process = os.getpid()
        self._inherited: list[_Opened | None] = []
        self._seen: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        known = self._seen.get(key)
        if known is None and (self._opened is not None or self._path.exists()):
            known = self._with(lambda opened: opened.get(key))
            if known is not None:
                self._seen[key] = known
        return known

    def keep(self, key: bytes, answer: bytes) -> None:
        self._with(lambda opened: opened.keep(key, answer))

    @property
    def mark(self) -> str:
        """How far the file is: its id, and how many answers it holds; empty when there is none."""
        if self._opened is None and not self._path.exists():
            return ""
        return self._with(lambda opened: opened.mark)

    def _with(self, work: Callable[[_Opened], Result]) -> Result:
        try:
            if self._opened is None or self._process != os.getpid():
                self._inherited.append(self._opened)  # SQLite must not use, nor close, what was open before a fork
                self._opened, self._process = _open(self._path), os.getpid()
                # Whoever has the answers does not say when they are needed no more.
                weakref.finalize(self, self._opened.connection.close)
            return work(self._opened)
        except sqlite3.OperationalError as error:
            raise StudyError(f"{self._path}: frozen answers cannot be kept there: {error}.") from error
        except SQLITE_ERRORS as error:
            raise StoredDataError(
                str(self._path), "", f"it is damaged, or no file of answers: {error}", REMEDY
            ) from error
        except OSError as error:
            raise StudyError(f"{self._path}: frozen answers cannot be kept there: {error.strerror}.") from error


class _Opened(NamedTuple):
    """An open file of answers that is one of this version."""

    connection: sqlite3.Connection
    path: Path
    id: str
    checksums: Checksums

    def get(self, key: bytes) -> bytes | None:
        row = self.connection.execute(f"{_ROWS} WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[1] != key or not self.checksums.match("answer", row):
            where = f"table answer, row with key {key.hex()}"
            raise StoredDataError(str(self.path), where, "its checksum does not match", REMEDY)
        answer: bytes = row[2]
        return answer

    def keep(self, key: bytes, answer: bytes) -> None:
        with _transaction(self.connection):
            if self.connection.execute("SELECT 1 FROM answer WHERE key = ?", (key,)).fetchone() is None:
                values = (self.last + 1, key, answer)
                row = (*values, self.checksums.of("answer", values))
                self.connection.execute("INSERT INTO answer VALUES (?, ?, ?, ?)", row)

    @property
    def last(self) -> int:
        """The number of the last answer, which is how many there are."""
        return int(self.connection.execute("SELECT coalesce(max(number), 0) FROM answer").fetchone()[0])

    @property
    def mark(self) -> str:
        return f"{self.id} {self.last}"


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")  # several workers may come first at once; they wait for each other
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(*SQLITE_ERRORS):
            connection.execute("ROLLBACK")
        raise


def _open(path: Path) -> _Opened:
    """Open a file, or begin it; it stays closed when that fails."""
    connection = open_private(path, busy_seconds=BUSY_SECONDS)
    try:
        # Changing to WAL would not wait for other workers. What the system has been handed outlives the process, which
        # is all that is asked.
        connection.execute("PRAGMA synchronous = OFF")
        with _transaction(connection):
            if not objects_in(connection):
                _begin(connection)
        return _checked(connection, path)
    except BaseException:
        connection.close()
        raise


def _begin(connection: sqlite3.Connection) -> None:
    file_id = new_file_id()
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    values = file_id, FORMAT
    connection.execute("INSERT INTO file VALUES (?, ?, ?)", (*values, Checksums(file_id).of("file", values)))


def _checked(connection: sqlite3.Connection, path: Path) -> _Opened:
    """Return a file whose tables, id and format are in order."""
    objects = objects_in(connection)
    if [name for _, name, _ in objects] == ["answer"]:
        earlier = (
            "an earlier version of chaosagent wrote it, and nothing would show whether an answer was changed since"
        )
        raise StoredDataError(str(path), "", earlier, REMEDY)
    if objects != objects_of(SCHEMA):
        raise StoredDataError(str(path), "", "it is damaged, or no file of answers: its tables are others", REMEDY)
    rows = connection.execute("SELECT id, format, checksum FROM file").fetchall()
    if len(rows) != 1 or type(rows[0][0]) is not str or not Checksums(rows[0][0]).match("file", rows[0]):
        raise StoredDataError(str(path), "table file", "its row is missing or damaged", REMEDY)
    if rows[0][1] != FORMAT:
        other = f"it has format {rows[0][1]}; this version of chaosagent reads {FORMAT}"
        raise StoredDataError(str(path), "", other, REMEDY)
    return _Opened(connection, path, rows[0][0], Checksums(rows[0][0]))


def repair_answers(path: Path, remedy: str = REMEDY) -> Repaired | None:
    """Check a file of answers as a whole, and take what is damaged out of it, so that it is asked for again.

    Args:
        path: Of the file; it need not exist.
        remedy: What to do about one that cannot be repaired.

    Returns:
        What was done; `None` when nothing was wrong.

    Raises:
        StoredDataError: It cannot be read as a file of answers of this version.
        UsageError: It cannot be opened, or its successor cannot be written.
    """
    if not path.exists():
        return None
    try:
        opened = _open(path)
        with contextlib.closing(opened.connection):
            first = _first_damage(opened)
            if not first:
                return None
            successor = path.with_name(f"{path.name}{MENDING}")
            kept = _taken_over(opened, successor)
        damaged = replace_damaged(path, successor)
        return Repaired(path, first, kept, damaged, "answers", "asked for again")
    except StoredDataError as error:
        raise StoredDataError(error.path, error.where, error.what, remedy) from error
    except SQLITE_ERRORS as error:
        raise StoredDataError(str(path), "", f"it is damaged, or no file of answers: {error}", remedy) from error
    except OSError as error:
        raise UsageError(f"{path}: answers cannot be kept there: {error.strerror}. {remedy}") from error


def answer_count(path: Path, mark: str) -> int:
    """Check a file of answers as a whole, and return how many it holds.

    Args:
        path: Of the file.
        mark: How far it was when runs last relied on it; see `AnswersOnDisk.mark`.

    Raises:
        StoredDataError: It is damaged, or not the file that was marked.
    """
    try:
        opened = _open(path)
        with contextlib.closing(opened.connection):
            first = _first_damage(opened)
            file_id, _, count = mark.partition(" ")
            if not first and (file_id != opened.id or opened.last < int(count)):
                first = "it is not the file, or not all of it, that the study relies on"
            if first:
                raise StoredDataError(str(path), "", first, REMEDY)
            return opened.last
    except SQLITE_ERRORS as error:
        raise StoredDataError(str(path), "", f"it is damaged, or no file of answers: {error}", REMEDY) from error


def _first_damage(opened: _Opened) -> str:
    complaint = complaint_about(opened.connection)
    if complaint:
        return complaint
    rows = opened.connection.execute(f"{_ROWS} ORDER BY number")
    for expected, row in enumerate(rows, 1):
        if not opened.checksums.match("answer", row):
            return f"table answer, row {row[0]}: its checksum does not match"
        if row[0] != expected:
            return f"table answer: row {expected} is missing"
    return ""


def _taken_over(opened: _Opened, successor: Path) -> int:
    """Write the sound answers of a file into its successor, and return how many there are."""
    remove_file(successor)
    fresh = _open(successor)
    with contextlib.closing(fresh.connection):
        for row in readable_rows(opened.connection, opened.path, _ROWS, ("number",)):
            key, answer = row[1], row[2]
            if opened.checksums.match("answer", row) and type(key) is bytes and type(answer) is bytes:
                fresh.keep(key, answer)
        return fresh.last


_ROWS = "SELECT number, key, answer, checksum FROM answer"
