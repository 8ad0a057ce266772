"""Damage to the rows of an SQLite file, as another program, or a wrong migration, does it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

NUMBERS: Sequence[object] = (0, 1, 2, -1, 2**62, -(2**63), 0.5, 1e300, float("inf"))
TEXTS: Sequence[object] = ("", "text", "1", "no", "\U0001f600", b"", b"\x00\xff", b"\xc0")
VALUES = (None, *NUMBERS, *TEXTS)


class Table:
    """One table of an open file, with what it takes to change one of its rows.

    Args:
        connection: To the file; it enforces no constraint that a change would break.
        name: Of the table.
    """

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self.connection, self.name = connection, name
        told = connection.execute(f"PRAGMA table_info({name})").fetchall()
        self.columns = [row[1] for row in told]
        self.key = [row[1] for row in sorted(told, key=lambda row: row[5]) if row[5]] or ["rowid"]
        self.rows = connection.execute(f"SELECT {', '.join(self.key)} FROM {name}").fetchall()

    def where(self) -> str:
        """Return the condition that names one row."""
        return " AND ".join(f"{column} IS ?" for column in self.key)

    def get(self, row: tuple[object, ...], column: str) -> object:
        """Return one value."""
        return self.connection.execute(f"SELECT {column} FROM {self.name} WHERE {self.where()}", row).fetchone()[0]

    def put(self, row: tuple[object, ...], column: str, value: object) -> None:
        """Change one value."""
        self.connection.execute(f"UPDATE {self.name} SET {column} = ? WHERE {self.where()}", (value, *row))


Change = Callable[[Table, random.Random], None]


def damage_rows(path: Path, rng: random.Random) -> str:
    """Damage the rows of a file, and return how."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()
        ]
        if not names:
            return "nothing to damage"
        table, how = Table(connection, rng.choice(names)), rng.choice(list(CHANGES))
        try:
            CHANGES[how](table, rng)
        except (sqlite3.IntegrityError, sqlite3.OperationalError, OverflowError):
            return f"{how} in {path.name}, {table.name}: refused by SQLite"
        return f"{how} in {path.name}, {table.name}"


def _delete(table: Table, rng: random.Random) -> None:
    table.connection.execute(f"DELETE FROM {table.name} WHERE {table.where()}", rng.choice(table.rows))


def _delete_many(table: Table, rng: random.Random) -> None:
    for row in table.rows:
        if rng.random() < 0.3:
            table.connection.execute(f"DELETE FROM {table.name} WHERE {table.where()}", row)


def _empty(table: Table, rng: random.Random) -> None:
    del rng
    table.connection.execute(f"DELETE FROM {table.name}")


def _drop(table: Table, rng: random.Random) -> None:
    del rng
    table.connection.execute(f"DROP TABLE {table.name}")


def _put_anything(table: Table, rng: random.Random) -> None:
    table.put(rng.choice(table.rows), rng.choice(table.columns), rng.choice(VALUES))


def _nudge(table: Table, rng: random.Random) -> None:
    """Change a value a little, and keep its type."""
    row, column = rng.choice(table.rows), rng.choice(table.columns)
    value = table.get(row, column)
    if isinstance(value, int):
        table.put(row, column, value + rng.choice((-1, 1)))
    elif isinstance(value, float):
        table.put(row, column, value * rng.choice((0.5, 2.0)))
    elif isinstance(value, str):
        table.put(row, column, value[:-1] if rng.random() < 0.5 else value + "1")
    elif isinstance(value, bytes) and value:
        changed = bytearray(value)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        table.put(row, column, bytes(changed))


def _swap(table: Table, rng: random.Random) -> None:
    """Swap one column, most often the last ones, between two rows."""
    column = rng.choice([*table.columns, *table.columns[-2:] * 2])
    if len(table.rows) < 2:
        return
    one, other = rng.sample(table.rows, 2)
    first, second = table.get(one, column), table.get(other, column)
    if column in table.key:
        table.put(one, column, None)
        return
    table.put(one, column, second)
    table.put(other, column, first)


def _swap_contents(table: Table, rng: random.Random) -> None:
    """Swap all but the keys between two rows: each whole and sound, in the other's place."""
    if len(table.rows) < 2:
        return
    one, other = rng.sample(table.rows, 2)
    for column in table.columns:
        if column not in table.key:
            first, second = table.get(one, column), table.get(other, column)
            try:
                table.put(one, column, second)
                table.put(other, column, first)
            except sqlite3.IntegrityError:
                continue


def _copy(table: Table, rng: random.Random) -> None:
    """Put a copy of a row under another key."""
    row, column = rng.choice(table.rows), rng.choice(table.columns)
    values = table.connection.execute(f"SELECT * FROM {table.name} WHERE {table.where()}", row).fetchone()
    changed = list(values)
    at = table.columns.index(column)
    value = changed[at]
    changed[at] = value + 1000 if isinstance(value, int) else f"{value}x" if isinstance(value, str) else value
    if table.columns[0] == "id" and column != "id" and isinstance(changed[0], int):
        changed[0] += 1000
    marks = ", ".join("?" * len(changed))
    table.connection.execute(f"INSERT INTO {table.name} VALUES ({marks})", changed)


def _retype(table: Table, rng: random.Random) -> None:
    """Keep a value and change its type."""
    row, column = rng.choice(table.rows), rng.choice(table.columns)
    value = table.get(row, column)
    if isinstance(value, bytes):
        table.connection.execute(
            f"UPDATE {table.name} SET {column} = CAST({column} AS TEXT) WHERE {table.where()}", row
        )
    elif value is not None:
        table.put(row, column, str(value).encode())


def _alter(table: Table, rng: random.Random) -> None:
    """Change what the table is: a column more, another name, an index or a trigger."""
    name, column = table.name, rng.choice(table.columns)
    table.connection.execute(
        rng.choice(
            [
                f"ALTER TABLE {name} ADD COLUMN more TEXT",
                f"ALTER TABLE {name} RENAME COLUMN {column} TO renamed",
                f"ALTER TABLE {name} RENAME TO renamed",
                f"CREATE UNIQUE INDEX more ON {name} ({', '.join(table.columns)})",
                f"CREATE TRIGGER more AFTER INSERT ON {name} BEGIN DELETE FROM {name}; END",
            ]
        )
    )


CHANGES: dict[str, Change] = {
    "delete a row": _delete,
    "delete rows": _delete_many,
    "empty a table": _empty,
    "drop a table": _drop,
    "put any value": _put_anything,
    "nudge a value": _nudge,
    "swap a column": _swap,
    "swap contents": _swap_contents,
    "copy a row": _copy,
    "change a type": _retype,
    "alter a table": _alter,
}
