"""Reads a store row by row against checksums, and repairs a damaged one."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from chaosagent.errors import ChaosAgentError, StoredDataError, UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import decode_evaluation, decode_shared, part_numbers
from chaosagent.sqlite_file import (
    MENDING,
    SQLITE_ERRORS,
    Repaired,
    complaint_about,
    objects_in,
    objects_of,
    open_private,
    readable_rows,
    remove_file,
    replace_damaged,
    text_of,
)
from chaosagent.study.store.facts import Facts, read_facts, write_all
from chaosagent.study.store.lock import holder_of
from chaosagent.study.store.parts import PartReader
from chaosagent.study.store.tables import KEYS, SCHEMA, injection_numbers, row_place, schedule_text
from chaosagent.study.task_seed import TaskSeed

UNCLOSED = "its study was killed, or is at work"
REMEDY = "`chaosagent search --resume` takes over what is sound, and runs the rest again."
REMEDY_ANEW = "Search anew, with another --out or after you have deleted the folder; --resume cannot continue it."


UNREADABLE = (zlib.error, ValueError, TypeError, LookupError, msgpack.exceptions.UnpackException)
"""What decoding raises for bytes that this version did not write."""


class StoredEvaluation(NamedTuple):
    """One run in a store: of which task, seed and world, and what it told."""

    at: TaskSeed
    evaluation: Evaluation


class ClosedStore(NamedTuple):
    """A store that was closed, opened to be read."""

    connection: sqlite3.Connection
    path: Path
    facts: Facts

    def evaluations(self, table: str) -> Iterator[StoredEvaluation]:
        """Yield the evaluations of a table; see `checked_evaluations`."""
        return checked_evaluations(self.connection, self.path, self.facts, table)

    def undisturbed(self) -> Iterator[StoredEvaluation]:
        """Yield the evaluations of the runs without injections; none for a target that declares secrets."""
        return checked_evaluations(self.connection, self.path, self.facts, "execution", undisturbed=True)


def checked_evaluations(
    connection: sqlite3.Connection,
    path: Path,
    facts: Facts,
    table: str,
    but_of: Collection[str] = (),
    *,
    undisturbed: bool = False,
) -> Iterator[StoredEvaluation]:
    """Yield the evaluations of a table, in the order of its key; rows that keep none, for secrets, are left out.

    Args:
        connection: To the store.
        path: Of the store, for messages.
        facts: Of the store.
        table: `"execution"` or `"draw"`.
        but_of: Tasks that are left out; of `"execution"` only.
        undisturbed: Only runs without injections.

    Raises:
        StoredDataError: A row is damaged.
    """
    parts = PartReader(connection, path, facts.checksums, REMEDY)
    try:
        names = dict(connection.execute("SELECT id, text FROM name"))
        left_out = [number for number, text in names.items() if text in but_of]
        conditions = [f"task NOT IN ({', '.join('?' * len(left_out))})"] if left_out else []
        conditions += ["schedule = ''"] if undisturbed else []
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        query = f"SELECT * FROM {table} {where} ORDER BY {', '.join(KEYS[table])}"
        for row in connection.execute(query, left_out):
            if not facts.checksums.match(table, row):
                raise StoredDataError(str(path), row_place(table, row), "its checksum does not match", REMEDY)
            if row[-2] is not None:
                yield _decoded(row, path, table, names, parts)
    except SQLITE_ERRORS as error:
        raise StoredDataError(str(path), f"table {table}", str(error), REMEDY) from error


def _decoded(
    row: tuple[Any, ...], path: Path, table: str, names: Mapping[int, str], parts: PartReader
) -> StoredEvaluation:
    try:
        if table == "draw":
            return StoredEvaluation(TaskSeed(row[0], int(row[1]), 0), decode_evaluation(row[-2]))
        at = TaskSeed(names[row[2]], int(names[row[3]]), row[4])
        schedule, status, error, landed, *rest = row[5:14]
        landed = None if landed is None else schedule_text(landed, names)
        columns = (schedule_text(schedule, names), status, error, landed, *rest)
        return StoredEvaluation(at, decode_shared(columns, row[-2], parts.part))
    except StoredDataError:
        raise
    except (*UNREADABLE, ChaosAgentError) as error:
        what = f"its evaluation cannot be read, though its checksum matches: {type(error).__name__}: {error}"
        raise StoredDataError(str(path), row_place(table, row), what, REMEDY) from error


def facts_of_closed_store(path: Path) -> Facts:
    """Return what a store says of its study as a whole; raises what `open_closed_store` does."""
    with open_closed_store(path, whole=False) as store:
        return store.facts


@contextlib.contextmanager
def open_closed_store(path: Path, *, whole: bool = True) -> Iterator[ClosedStore]:
    """Open the store of a study that was closed, to read it; nothing is written.

    Args:
        path: Of the store.
        whole: Check all of its rows first, not only its facts.

    Raises:
        UsageError: It is not there, or may not be read.
        StoredDataError: It is damaged, of another version, or was not closed.
    """
    check_access(path)
    # To open it with its journal would write beside it, and closing it into it.
    if holder_of(path.parent) is not None or has_open_journal(path):
        raise StoredDataError(str(path), "", UNCLOSED, REMEDY)
    try:
        with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            connection.text_factory = text_of
            facts = read_facts(connection, path, REMEDY_ANEW)
            if "counts" not in facts:
                raise StoredDataError(str(path), "", UNCLOSED, REMEDY)
            damage = damage_in(connection, facts) if whole else ""
            if damage:
                raise StoredDataError(str(path), "", damage, REMEDY)
            yield ClosedStore(connection, path, facts)
    except SQLITE_ERRORS as error:
        raise StoredDataError(str(path), "", f"it is no store of a study, or damaged: {error}", REMEDY) from error


def has_open_journal(path: Path) -> bool:
    """Whether beside a store lies a journal that holds what the store does not: it is at work, or was killed.

    A journal also stays behind where another program had the store open when its study ended, and one that only reads
    makes an empty one; the store alone then holds everything.

    Source: https://sqlite.org/walformat.html
    """
    journal = path.with_name(f"{path.name}-wal")
    if not journal.exists():
        return False
    with journal.open("rb") as log, path.open("rb") as store:
        header = log.read(32)
        page_bytes, salts = int.from_bytes(header[8:12], "big"), header[16:24]
        last: dict[int, int] = {}  # where each page stands in the journal
        while len(frame := log.read(24)) == 24 and frame[8:16] == salts:  # others are left from before it began anew
            last[int.from_bytes(frame[:4], "big")] = log.tell()
            log.seek(page_bytes, os.SEEK_CUR)
        for number, place in last.items():
            log.seek(place)
            store.seek((number - 1) * page_bytes)
            if log.read(page_bytes) != store.read(page_bytes):
                return True
    return False


def check_access(path: Path) -> None:
    """Refuse a file that may not be read, which SQLite would take for a damaged one.

    Raises:
        UsageError: It may not be read.
    """
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}. Make it readable, or name another folder.") from error


def read_only_uri(path: Path) -> str:
    """Return how SQLite is to open a store that is only read.

    A closed store is read as it lies, so that nothing is written beside it; a killed one needs its journal.
    """
    mode = "mode=ro" if has_open_journal(path) else "immutable=1"
    return f"{path.resolve().as_uri()}?{mode}"


COUNTED = ("name", "part", "execution", "trial", "search", "counterexample", "finished")
FOLLOWED = ("draw", "differing")
"""Tables with a fact that says how many rows they have at any moment."""

TAKEN_OVER = ("name", "part", "execution", *FOLLOWED)
"""The others are left out: what trials and searches found is told again when the study is resumed."""


def counts_in(connection: sqlite3.Connection) -> str:
    """Return how many rows the tables have whose number the facts do not follow, for the fact `counts`."""
    return json.dumps({table: _count(connection, table) for table in COUNTED})


def damage_in(connection: sqlite3.Connection, facts: Facts) -> str:
    """Return the first thing that is wrong with a store whose facts are sound, empty when nothing is."""
    complaint = complaint_about(connection)
    if complaint:
        return complaint
    if objects_in(connection) != objects_of(SCHEMA):
        return "its tables are not those of a store"
    for table in KEYS:
        for row in connection.execute(f"SELECT * FROM {table}") if table != "study" else ():
            if not facts.checksums.match(table, row):
                return f"{row_place(table, row)}: its checksum does not match"
    dangling = connection.execute("PRAGMA foreign_key_check").fetchone()
    if dangling is not None:
        return f"table {dangling[0]}: a row of table {dangling[2]} that one refers to is missing"
    for _, missing in _incomplete_runs(connection):
        return f"table {missing}: a row that a run refers to is missing"
    expected = {**json.loads(facts.get("counts", "{}")), **{table: int(facts.get(table, "0")) for table in FOLLOWED}}
    for table, count in expected.items():
        found = _count(connection, table)
        if found != count:
            return f"table {table}: it has {found} rows, and had {count}"
    return ""


def repair(connection: sqlite3.Connection, path: Path, facts: Facts, remedy: str) -> Repaired | None:
    """Check a store as a whole; where it is damaged, put one in its place that holds what can be trusted.

    Args:
        connection: To the store; it is closed when the store was damaged.
        path: Of the store.
        facts: What it says of its study; they are sound.
        remedy: What to do where too much is lost.

    Returns:
        What was done; `None` when nothing was wrong.

    Raises:
        StoredDataError: It does not say any more which runs diverged, so that nothing in it is proved.
        OSError: The successor cannot be written.
        sqlite3.Error: The same.
    """
    try:
        first = damage_in(connection, facts)
    except SQLITE_ERRORS as error:
        first = str(error)
    if not first:
        return None
    successor = path.with_name(f"{path.name}{MENDING}")
    remove_file(successor)
    with contextlib.closing(connection), contextlib.closing(open_private(successor)) as fresh:
        fresh.executescript(SCHEMA)
        fresh.execute("BEGIN")
        for table in TAKEN_OVER:
            _take_over(connection, path, fresh, table, facts)
        _drop_dangling(fresh)
        _drop_behind_gaps(fresh)
        if _count(fresh, "differing") != int(facts.get("differing", "0")):
            lost = "a row is damaged or missing that says which runs diverged, so nothing is proved for their task"
            raise StoredDataError(str(path), "table differing", lost, remedy)
        facts["draw"] = str(_count(fresh, "draw"))
        write_all(fresh, facts, without=("ended", "failed", "counts"))
        kept = _count(fresh, "execution") + _count(fresh, "draw")
        fresh.execute("COMMIT")
    return Repaired(path, first, kept, replace_damaged(path, successor), "runs", "run again")


def _take_over(connection: sqlite3.Connection, path: Path, fresh: sqlite3.Connection, table: str, facts: Facts) -> None:
    """Copy the rows of a table that are as they were written."""
    with contextlib.suppress(*SQLITE_ERRORS):  # the table is gone
        for row in readable_rows(connection, path, f"SELECT * FROM {table}", KEYS[table]):
            if facts.checksums.match(table, row):
                marks = ", ".join("?" * len(row))
                fresh.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)


def _incomplete_runs(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield the ids of runs with an injection or a part that is missing, and the table in which it is missed."""
    names = {number for (number,) in connection.execute("SELECT id FROM name")}
    parts: set[int] = set()
    for first, count in connection.execute("SELECT id, count FROM part"):
        parts.update(range(first, first + count))
    for number, schedule, landed, data in connection.execute(
        "SELECT id, schedule, effective, evaluation FROM execution"
    ):
        if not all(names.issuperset(injection_numbers(one)) for one in (schedule, landed) if one):
            yield number, "name"
        elif data is not None and not parts.issuperset(part_numbers(data)):
            yield number, "part"


def _drop_dangling(fresh: sqlite3.Connection) -> None:
    """Drop runs whose names or parts are missing."""
    named = "task NOT IN (SELECT id FROM name) OR seed NOT IN (SELECT id FROM name)"
    fresh.execute(f"DELETE FROM execution WHERE {named}")
    incomplete = [(number,) for number, _ in _incomplete_runs(fresh)]
    fresh.executemany("DELETE FROM execution WHERE id = ?", incomplete)


def _drop_behind_gaps(fresh: sqlite3.Connection) -> None:
    """Drop fresh runs behind the first of their schedule that is missing: their number says which comes next."""
    rows = fresh.execute(
        "SELECT task, seed, schedule, number FROM draw ORDER BY task, seed, schedule, number"
    ).fetchall()
    next_number: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        if row[3] == next_number[row[:3]]:
            next_number[row[:3]] += 1
        else:
            fresh.execute("DELETE FROM draw WHERE task = ? AND seed = ? AND schedule = ? AND number = ?", row)


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
