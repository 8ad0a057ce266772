"""The shop's database: SQLite in memory, as fresh for every run as on the first day.

A run works inside one transaction on a connection that it alone holds; at its end the transaction is rolled back and
the connection goes back to the pool of its thread. That costs a fifth of loading the database anew.
"""

from __future__ import annotations

import sqlite3
import threading
from importlib.resources import files
from typing import TypeAlias

from chaosagent.canonical import Plain, digest_of

Row: TypeAlias = "tuple[int | str | None, ...]"

TODAY = "2025-05-14"
YESTERDAY = "2025-05-13"

_POOL = threading.local()


class Database:
    """One run's view of the shop. Close it at the end of the run; nothing that was written survives that.

    Attributes:
        version: Digest of everything that was written so far, in order; what the database holds follows from it.
    """

    def __init__(self) -> None:
        idle: list[sqlite3.Connection] = _POOL.__dict__.setdefault("idle", [])
        self._connection = idle.pop() if idle else _loaded()
        self._connection.execute("BEGIN")
        self.version = ""

    def close(self) -> None:
        """Forget what was written and give the connection back."""
        self._connection.execute("ROLLBACK")
        _POOL.__dict__.setdefault("idle", []).append(self._connection)

    def row(self, sql: str, *parameters: Plain) -> Row | None:
        """Return the first row of a query, `None` if there is none."""
        found: Row | None = self._connection.execute(sql, parameters).fetchone()
        return found

    def rows(self, sql: str, *parameters: Plain) -> list[Row]:
        """Return all rows of a query."""
        return self._connection.execute(sql, parameters).fetchall()

    def write(self, sql: str, *parameters: Plain) -> int:
        """Change the database.

        Returns:
            The number of rows that were changed.

        Raises:
            sqlite3.IntegrityError: The change would break a constraint; nothing was changed.
        """
        changed = self._connection.execute(sql, parameters).rowcount
        if changed:
            self.version = digest_of([self.version, sql, *parameters])
        return changed


_SHOP = (files(__package__) / "shop.sql").read_text("utf-8")


def _loaded() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(_SHOP)
    return connection
