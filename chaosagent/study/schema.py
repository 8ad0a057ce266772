"""The tables of a study's store."""

from __future__ import annotations

import importlib.metadata

FORMAT = 2
"""Of the stored evaluations; another one is not read. Since 2 they hold when each injection began to act."""


def version_of_store() -> str:
    """Return what a store says of who has written it; one that says something else is refused."""
    return f"{importlib.metadata.version('chaosagent')}, store format {FORMAT}"


SCHEMA = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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
    UNIQUE (task, seed, world, schedule)
);
CREATE TABLE draw (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    schedule TEXT NOT NULL,
    number INTEGER NOT NULL,
    evaluation BLOB NOT NULL,
    PRIMARY KEY (task, seed, schedule, number)
) WITHOUT ROWID;
CREATE TABLE differing (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    difference TEXT NOT NULL,
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
    PRIMARY KEY (task, seed, contract)
) WITHOUT ROWID;
"""

COUNTEREXAMPLES = """
CREATE TABLE IF NOT EXISTS counterexample (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    contract TEXT NOT NULL,
    schedule TEXT NOT NULL,
    cost REAL NOT NULL,
    signature TEXT NOT NULL,
    certified INTEGER NOT NULL
) WITHOUT ROWID;
"""
"""All that searches found; the row of a search names its cheapest."""

FORGET_SEARCHES = "DELETE FROM trial; DELETE FROM search; DELETE FROM counterexample;"
