"""The tables of a study's store.

Each row ends with a checksum of its table and of all that stands before it; see `chaosagent.sqlite_file`.
"""

from __future__ import annotations

import importlib.metadata

FORMAT = 3
"""Of the store; another one is not read. Since 2 evaluations hold when each injection began to act, since 3 rows hold
their checksums."""


def version_of_store() -> str:
    """Return what a store says of who has written it; one that says something else is refused."""
    return f"{importlib.metadata.version('chaosagent')}, store format {FORMAT}"


SCHEMA = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE execution (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    world INTEGER NOT NULL,
    schedule TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT NOT NULL,
    effective TEXT NOT NULL,
    cost REAL NOT NULL,
    digest TEXT NOT NULL,
    ending TEXT NOT NULL,
    success INTEGER,
    steps INTEGER NOT NULL,
    evaluation BLOB,
    checksum BLOB NOT NULL,
    UNIQUE (task, seed, world, schedule)
);
CREATE TABLE draw (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    schedule TEXT NOT NULL,
    number INTEGER NOT NULL,
    evaluation BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed, schedule, number)
) WITHOUT ROWID;
CREATE TABLE differing (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    difference TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed)
) WITHOUT ROWID;
CREATE TABLE trial (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    contract TEXT NOT NULL,
    number INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    execution INTEGER NOT NULL REFERENCES execution (id),
    verdict INTEGER,
    margin REAL,
    unfair INTEGER,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed, contract, number)
) WITHOUT ROWID;
CREATE TABLE search (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    contract TEXT NOT NULL,
    trials INTEGER NOT NULL,
    violated_nominally INTEGER NOT NULL,
    certificate TEXT NOT NULL,
    certified INTEGER NOT NULL,
    lower_bound REAL,
    counterexample TEXT,
    schedule TEXT,
    cost REAL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed, contract)
) WITHOUT ROWID;
CREATE TABLE counterexample (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    contract TEXT NOT NULL,
    schedule TEXT NOT NULL,
    cost REAL NOT NULL,
    signature TEXT NOT NULL,
    certified INTEGER NOT NULL,
    checksum BLOB NOT NULL
) WITHOUT ROWID;
"""
"""Of the table `counterexample`: all that searches found; the row of a search names its cheapest."""

FORGET_SEARCHES = ("DELETE FROM trial", "DELETE FROM search", "DELETE FROM counterexample")
FORGET_RUNS = (*FORGET_SEARCHES, "DELETE FROM execution", "DELETE FROM draw")

KEYS = {
    "study": ("key",),
    "execution": ("id",),
    "draw": ("task", "seed", "schedule", "number"),
    "differing": ("task", "seed"),
    "trial": ("task", "seed", "contract", "number"),
    "search": ("task", "seed", "contract"),
    "counterexample": ("id",),
}
"""The tables with the columns of their keys."""


def row_place(table: str, row: tuple[object, ...]) -> str:
    """Return where a row stands, for messages; the first columns of each table are its key."""
    named = zip(KEYS[table], row, strict=False)
    return f"table {table}, row with {', '.join(f'{column} {value!r:.60}' for column, value in named)}"
