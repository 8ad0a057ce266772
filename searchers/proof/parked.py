"""Children of the frontier on disk, in their order, for which there is no room in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias
from weakref import finalize

Place: TypeAlias = tuple[float, int, str, int, int]
"""The place of a child in the order of the frontier: cost, earliness, text of the parent, part, and number."""

PRIVATE = ""
"""SQLite's name for a temporary file: it has no name in any folder, and ends with its connection."""


class Parked(NamedTuple):
    """A child that is on disk, and all of its family that does not follow from its run.

    Attributes:
        child: Its place in the order.
        cost: Of the parent.
        acted: Position of the last of the parent's injections that acted.
        run: Schedule of the run that shows what the parent does, as text.
        affordable: How many of the candidates can be afforded.
        last: Position behind which they are left out.
        exchanges: Of the family.
    """

    child: Place
    cost: float
    acted: int
    run: str
    affordable: int
    last: float
    exchanges: int


class ParkedChildren:
    """Keeps them in a temporary file of SQLite."""

    def __init__(self) -> None:
        self._file = sqlite3.connect(PRIVATE, isolation_level=None, check_same_thread=False)
        finalize(self, self._file.close)
        self._file.executescript(
            """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000;
            CREATE TABLE child (cost REAL, earliness INTEGER, parent BLOB, part INTEGER, number INTEGER,
                parent_cost REAL, acted INTEGER, run BLOB, count INTEGER, last REAL, exchanges INTEGER,
                PRIMARY KEY (cost, earliness, parent, part, number)) WITHOUT ROWID"""
        )

    def add(self, children: Iterable[Parked]) -> None:
        """Keep some children."""
        rows = (
            (*one.child[:2], _bytes(one.child[2]), *one.child[3:], one.cost, one.acted, _bytes(one.run), *one[4:])
            for one in children
        )
        self._file.execute("BEGIN")
        self._file.executemany(f"INSERT INTO child VALUES ({', '.join('?' * 11)})", rows)
        self._file.execute("COMMIT")

    def take(self, count: int) -> list[Parked]:
        """Return those that come first, and drop them."""
        rows = self._file.execute(f"SELECT * FROM child ORDER BY {ORDER} LIMIT ?", (count,)).fetchall()
        if rows:
            self._file.execute(f"DELETE FROM child WHERE ({ORDER}) <= (?, ?, ?, ?, ?)", rows[-1][:5])
        return [
            Parked((cost, earliness, _text(parent), part, number), parent_cost, acted, _text(run), *rest)
            for cost, earliness, parent, part, number, parent_cost, acted, run, *rest in rows
        ]

    @property
    def first(self) -> Place | None:
        """The place of the first, `None` when there is none."""
        row = self._file.execute(f"SELECT {ORDER} FROM child ORDER BY {ORDER} LIMIT 1").fetchone()
        return None if row is None else (*row[:2], _text(row[2]), *row[3:])


ORDER = "cost, earliness, parent, part, number"


def _bytes(text: str) -> bytes:
    """Return a text such that bytes have the order of texts."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
