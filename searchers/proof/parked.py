"""Children of the frontier on disk, in their order, for which there is no room in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from chaosagent.sqlite_file import TemporaryFile

Turn: TypeAlias = tuple[float, int, str, int, int]
"""The turn of a child in the order of the frontier: cost, earliness, text of the parent, part, and number."""

CACHE_KILOBYTES = 1_000
ORDER = "cost, earliness, parent, part, number"
SCHEMA = f"""
CREATE TABLE child (cost REAL, earliness INTEGER, parent BLOB, part INTEGER, number INTEGER,
    parent_cost REAL, acted INTEGER, run BLOB, affordable INTEGER, last REAL, exchanges INTEGER,
    PRIMARY KEY ({ORDER})) WITHOUT ROWID;
"""


class Parked(NamedTuple):
    """A child that is on disk, and all of its family that does not follow from its run.

    Attributes:
        child: Its turn.
        cost: Of the parent.
        acted: Position of the last of the parent's injections that acted.
        run: Schedule of the run that shows what the parent does, as text.
        affordable: How many of the candidates can be afforded.
        last: Position behind which they are left out.
        exchanges: Of the family.
    """

    child: Turn
    cost: float
    acted: int
    run: str
    affordable: int
    last: float
    exchanges: int


class ParkedChildren:
    """Keeps them in a temporary file."""

    def __init__(self) -> None:
        self._file = TemporaryFile(SCHEMA, cache_kilobytes=CACHE_KILOBYTES)

    def add(self, children: Iterable[Parked]) -> None:
        """Keep some children.

        Raises:
            StudyError: There is no room on disk.
        """
        rows = [
            (*one.child[:2], _bytes(one.child[2]), *one.child[3:], one.cost, one.acted, _bytes(one.run), *one[4:])
            for one in children
        ]
        self._file.change((f"INSERT INTO child VALUES ({', '.join('?' * 11)})", rows))

    def take(self, count: int) -> list[Parked]:
        """Return those that come first, and drop them."""
        rows = self._file.rows(f"SELECT * FROM child ORDER BY {ORDER} LIMIT ?", (count,))
        if rows:
            self._file.change((f"DELETE FROM child WHERE ({ORDER}) <= (?, ?, ?, ?, ?)", [rows[-1][:5]]))
        return [
            Parked((cost, earliness, _text(parent), part, number), parent_cost, acted, _text(run), *rest)
            for cost, earliness, parent, part, number, parent_cost, acted, run, *rest in rows
        ]

    @property
    def first(self) -> Turn | None:
        """The turn of the first, `None` when there is none."""
        rows = self._file.rows(f"SELECT {ORDER} FROM child ORDER BY {ORDER} LIMIT 1")
        return (*rows[0][:2], _text(rows[0][2]), *rows[0][3:]) if rows else None


def _bytes(text: str) -> bytes:
    """Return a text such that bytes have the order of texts."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
