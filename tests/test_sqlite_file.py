"""SQLite files are private, and their rows show when they were changed."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chaosagent.sqlite_file import (
    PRIVATE,
    Checksums,
    companions_of,
    complaint_about,
    objects_in,
    objects_of,
    open_private,
    readable_rows,
    replace_damaged,
)


@pytest.fixture
def careless() -> Iterator[None]:
    """A umask under which everybody may read and write new files."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("careless")
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_file_and_what_sqlite_writes_beside_it_are_private_whatever_the_umask(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "a.db"

    with closing(open_private(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (1)")
        beside = [name for name in companions_of(path) if name.exists()]
        modes = [mode_of(name) for name in (path, *beside)]

    assert {name.name for name in beside} == ({"a.db-wal", "a.db-shm"} if journal == "WAL" else {"a.db-journal"})
    assert set(modes) == {PRIVATE}


def test_a_file_that_others_may_read_becomes_private_when_it_is_opened(tmp_path: Path) -> None:
    for name in ("a.db", "a.db-wal"):
        (tmp_path / name).touch(0o644)

    open_private(tmp_path / "a.db").close()

    assert mode_of(tmp_path / "a.db") == PRIVATE


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("other", ("key", 1, b"value", None)),
        ("t", ("key2", 1, b"value", None)),
        ("t", ("key", 2, b"value", None)),
        ("t", ("key", 1.0, b"value", None)),
        ("t", ("key", 1, "value", None)),
        ("t", ("key", 1, b"value", b"")),
        ("t", (b"key", 1, b"value", None)),
    ],
)
def test_a_checksum_covers_the_table_and_each_value_with_its_type(table: str, row: tuple[object, ...]) -> None:
    checksums, known = Checksums("file"), ("key", 1, b"value", None)
    checksum = checksums.of("t", known)

    assert checksums.match("t", (*known, checksum))
    assert not checksums.match(table, (*row, checksum))
    assert not Checksums("other file").match("t", (*known, checksum))
    assert not checksums.match("t", (*known, None))


def test_a_text_that_is_no_utf_8_is_read_and_does_not_match(tmp_path: Path) -> None:
    with closing(open_private(tmp_path / "a.db")) as connection:
        row = connection.execute("SELECT CAST(x'61ff' AS TEXT)").fetchone()

    assert row == ("a\udcff",)
    assert not Checksums("file").match("t", (*row, Checksums("file").of("t", ("a",))))


def test_rows_on_both_sides_of_a_damaged_page_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(open_private(path)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(number, "x" * 400) for number in range(100)])
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(bytes(data))

    with closing(open_private(path)) as connection:
        complaint = complaint_about(connection)
        read = {row[0] for row in readable_rows(connection, path, "SELECT * FROM t", ("id",))}

    assert complaint
    assert {0, 99} <= read < set(range(100))
    assert len(read) > 80


def test_a_schema_is_compared_with_what_a_file_holds(tmp_path: Path) -> None:
    schema = "CREATE TABLE t (x);"
    with closing(open_private(tmp_path / "a.db")) as connection:
        connection.executescript(schema)

        assert objects_in(connection) == objects_of(schema)
        connection.execute("CREATE INDEX more ON t (x)")
        assert objects_in(connection) != objects_of(schema)


@pytest.mark.parametrize("links", [True, False])
def test_a_damaged_file_is_kept_beside_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    path, successor = tmp_path / "a.db", tmp_path / "a.db.mending"
    for name, text in ((path, "damaged"), (successor, "mended"), (tmp_path / "a.db-wal", "of the damaged one")):
        name.write_text(text)
    path.chmod(PRIVATE)
    if not links:

        def no_links(source: Path, target: Path) -> None:
            raise OSError(f"no links from {source} to {target}")

        monkeypatch.setattr(os, "link", no_links)

    kept = replace_damaged(path, successor)

    assert (path.read_text(), kept.read_text(), mode_of(kept)) == ("mended", "damaged", PRIVATE)
    assert sorted(name.name for name in tmp_path.iterdir()) == ["a.db", "a.db.damaged"]


def test_opening_what_is_no_file_fails_as_files_do(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        open_private(tmp_path)
    (tmp_path / "text").write_text("something else " * 100)

    with (
        closing(open_private(tmp_path / "text")) as connection,
        pytest.raises(sqlite3.DatabaseError, match="not a database"),
    ):
        objects_in(connection)
