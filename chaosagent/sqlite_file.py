"""SQLite files that only their owner may read, and checksums that show when a row was changed.

A checksum shows damage, by disks, transfers or other programs. It is no signature: who means to change a row can
compute it anew.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from weakref import finalize

from chaosagent.canonical import DIGEST_BYTES, pack_plain
from chaosagent.errors import StudyError

Value: TypeAlias = "str | int | float | bytes | None"

COMPANIONS = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside its own."""

DAMAGED, MENDING = ".damaged", ".mending"
"""Endings of a damaged file that is kept, and of its successor while it is written."""

SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What sqlite3 raises for a damaged file: in some messages about one it fails to decode what it quotes."""

PRIVATE = 0o600
BUSY_SECONDS = 5.0
ROW_BYTES_MIN = 16


class Repaired(NamedTuple):
    """A file that was damaged, and was repaired.

    Attributes:
        path: Of the file.
        first: The first damage.
        kept: How many rows are sound.
        damaged: The copy of the damaged file.
        rows: What the rows are, such as `"runs"`.
        remedy: What happens to the damaged ones.
    """

    path: Path
    first: str
    kept: int
    damaged: Path
    rows: str
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.path} was damaged ({self.first}): {self.kept} {self.rows} are sound and kept, others are "
            f"{self.remedy}; the damaged file is kept as {self.damaged.name}"
        )


class Checksums:
    """The checksums of the rows of one file.

    Args:
        file_id: Of the file; a row of another file has another checksum.
    """

    def __init__(self, file_id: str) -> None:
        self._of_file = blake2b(file_id.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
        self._of_table: dict[str, blake2b] = {}

    def of(self, table: str, values: Sequence[object]) -> bytes:
        """Return the checksum of a row: of its table and all of its values, in the order of the columns."""
        begun = self._of_table.get(table)
        if begun is None:
            begun = self._of_table[table] = self._of_file.copy()
            begun.update(pack_plain(table))
        hashed = begun.copy()
        hashed.update(pack_plain(values))
        return hashed.digest()

    def match(self, table: str, row: Sequence[object]) -> bool:
        """Whether a row as it was read, its checksum last, is as it was written."""
        return type(row[-1]) is bytes and row[-1] == self.of(table, row[:-1])


def new_file_id() -> str:
    """Return an id that no other file has."""
    return secrets.token_hex(DIGEST_BYTES)


def open_private(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open a file, or make it, so that only its owner may read it and what SQLite writes beside it.

    Texts are read whatever their bytes are, so that damaged ones reach the check of their row's checksum.

    Raises:
        OSError: It cannot be made.
        sqlite3.Error: It cannot be opened.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
    make_private(path)
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    connection.text_factory = text_of
    return connection


class TemporaryFile:
    """A file for what has no room in memory: it has no name in any folder, and ends with its owner.

    SQLite chooses its folder; `SQLITE_TMPDIR` names another.

    Args:
        schema: Its tables.
        cache_kilobytes: How much of it stays in memory.
    """

    def __init__(self, schema: str, *, cache_kilobytes: int) -> None:
        # Hypothesis, a searcher, asks in a thread of its own, while the study waits for it.
        self._connection = sqlite3.connect("", check_same_thread=False)
        finalize(self, self._connection.close)
        self._connection.executescript(
            f"PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -{cache_kilobytes};{schema}"
        )

    def rows(self, query: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        return self._connection.execute(query, values).fetchall()

    def change(self, *changes: tuple[str, Iterable[Sequence[Value]]]) -> None:
        """Make changes, all or none: statements, each with the rows of values for which it is made.

        Raises:
            StudyError: There is no room on the disk.
        """
        try:
            with self._connection:
                for statement, rows in changes:
                    self._connection.executemany(statement, rows)
        except sqlite3.OperationalError as error:
            raise StudyError(
                f"the temporary file for what has no room in memory cannot be written ({error}). Make room on that "
                "disk, or name a folder on another disk in SQLITE_TMPDIR; then continue with --resume."
            ) from error


def text_of(data: bytes) -> str:
    """Return a text as it is stored; bytes that are no UTF-8 become characters that no text has."""
    return data.decode("utf-8", "surrogateescape")


def make_private(path: Path) -> None:
    """Let nobody but the owner read a file and its companions, those from earlier versions, too."""
    for name in (path, *companions_of(path)):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # not made yet; not ours
            if name.stat().st_mode & 0o777 != PRIVATE:
                name.chmod(PRIVATE)


def companions_of(path: Path) -> list[Path]:
    """Return the paths of the files that SQLite may keep beside one."""
    return [path.with_name(f"{path.name}{ending}") for ending in COMPANIONS]


def remove_file(path: Path) -> None:
    """Delete a file and its companions."""
    for name in (*companions_of(path), path):
        with contextlib.suppress(IsADirectoryError):  # not ours
            name.unlink(missing_ok=True)


def replace_damaged(path: Path, successor: Path) -> Path:
    """Put a repaired file in the place of a damaged one, which is kept; return where.

    Killed at any moment, one of the two is in place, without companions of the other.
    """
    kept = path.with_name(f"{path.name}{DAMAGED}")
    kept.unlink(missing_ok=True)
    try:
        os.link(path, kept)
    except OSError:  # not every file system has links
        os.close(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        shutil.copyfile(path, kept)
    for name in companions_of(path):
        name.unlink(missing_ok=True)
    successor.replace(path)
    return kept


def objects_in(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Return what a file consists of: tables, indexes and whatever else, with their definitions."""
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()


def objects_of(schema: str) -> list[tuple[object, ...]]:
    """Return what a file consists of that was made with a schema."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        return objects_in(connection)


def complaint_about(connection: sqlite3.Connection) -> str:
    """Return what SQLite finds wrong with the structure of a file, empty when nothing is."""
    try:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except SQLITE_ERRORS as error:
        return str(error)
    return "" if found == "ok" else str(found).replace("\n", " ")


def readable_rows(
    connection: sqlite3.Connection, path: Path, query: str, keys: Sequence[str]
) -> Iterator[tuple[Value, ...]]:
    """Yield the rows of a table that can be read at all: from the front, and behind a damaged page from the back.

    Args:
        connection: To the file.
        path: Of the file; no more rows are read than fit into one of its size.
        query: Without an order.
        keys: The columns of the table's key.
    """
    rows_max = path.stat().st_size // ROW_BYTES_MIN + 1
    for direction in ("ASC", "DESC"):
        order = ", ".join(f"{key} {direction}" for key in keys)
        try:
            for number, row in enumerate(connection.execute(f"{query} ORDER BY {order}")):
                if number > rows_max:
                    break
                yield row
            else:
                return
        except SQLITE_ERRORS:
            continue
