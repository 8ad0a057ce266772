"""What a store says of its study as a whole: keys and values, none of which can be lost or changed unnoticed."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from chaosagent.clock import timestamp
from chaosagent.errors import StoredDataError
from chaosagent.faults.space import Space
from chaosagent.sqlite_file import Checksums, new_file_id
from chaosagent.study.plan import Plan
from chaosagent.study.store.tables import version_of_store

KEYS, ID = "keys", "id"
Row = tuple[str, str, bytes]


class Facts(dict[str, str]):
    """The facts of a store, and its checksums.

    Among them: `id` of the file; `plan` and `runs`, digests of what is searched and of all that runs depend on;
    `shard`, where it holds a part of the study; `chaosagent`, who has written it; `stochastic`, `code` and `seconds`;
    `bounds`, how the bound of the searches rose; `operators` and `boundaries`, what was searched and where the target
    was seen to call something, as lists; `draw` and `differing`, how many rows these tables have; `answers`,
    how far the file of frozen answers was; and, once it was closed, `counts` of the other tables, so that rows that are
    missing are missed.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.checksums = Checksums(self[ID])

    def changed(self, changes: Mapping[str, str]) -> list[Row]:
        """Change some facts, and return the rows to be written in one go: if keys are new, also the list of keys."""
        is_new = not changes.keys() <= self.keys()
        self.update(changes)
        return [self._row(key, value) for key, value in [*changes.items(), *([self._keys()] if is_new else [])]]

    def without(self, keys: Iterable[str]) -> list[Row]:
        """Drop some facts, and return the rows of all others, to be written in place of what the table holds."""
        for key in keys:
            self.pop(key, None)
        return [self._row(key, value) for key, value in [*self.items(), self._keys()]]

    def _keys(self) -> tuple[str, str]:
        return KEYS, json.dumps(sorted(self))

    def _row(self, key: str, value: str) -> Row:
        return key, value, self.checksums.of("study", (key, value))


def new_facts(plan: Plan) -> Facts:
    """Return the facts of a store that is begun now."""
    return Facts(
        {
            ID: new_file_id(),
            "plan": plan.digest,
            "runs": plan.runs_digest,
            "chaosagent": version_of_store(),
            "target": plan.target_reference,
            "config": plan.config.name,
            "begun": timestamp(),
            **({"shard": str(plan.shard)} if str(plan.shard) else {}),
        }
    )


def bounds_in(facts: Mapping[str, str]) -> list[tuple[int, float]]:
    """Return after how many runs which bound of the searches that were open then was reached, both ascending."""
    try:
        told = json.loads(facts.get("bounds", "[]"))
        return [(int(runs), float(bound)) for runs, bound in told if runs >= 0 and 0 <= bound < math.inf]
    except (ValueError, TypeError):  # somebody else has written it
        return []


def space_fact(space: Space, earlier: Mapping[str, str]) -> dict[str, str]:
    """Return what is to be kept of a space; boundaries that an earlier session has met stay."""
    boundaries = {*space.boundaries, *names_in(earlier, "boundaries")}
    return {"operators": json.dumps(space.operators), "boundaries": json.dumps(sorted(boundaries))}


def names_in(facts: Mapping[str, str], key: str) -> list[str]:
    """Return the names under a key; none where an older version has not written it."""
    try:
        told = json.loads(facts.get(key, "[]"))
    except ValueError:  # somebody else has written it
        return []
    return [one for one in told if isinstance(one, str)] if isinstance(told, list) else []


def write_all(connection: sqlite3.Connection, facts: Facts, *, without: Iterable[str] = ()) -> None:
    """Write all facts in place of what the table holds; it is for the caller to begin and end the transaction."""
    rows = facts.without(without)
    connection.execute("DELETE FROM study")
    connection.executemany("INSERT INTO study VALUES (?, ?, ?)", rows)


def older_facts(connection: sqlite3.Connection) -> dict[str, str] | None:
    """Return the facts of a store whose rows have no checksums, as versions before format 3 wrote it."""
    if _columns(connection) != ["key", "value"]:
        return None
    return dict(connection.execute("SELECT key, value FROM study"))


def read_facts(connection: sqlite3.Connection, path: Path, remedy: str, *, any_version: bool = False) -> Facts:
    """Return the facts of a store.

    Args:
        connection: To the store.
        path: Of the store, for messages.
        remedy: What to do about a store that cannot be used.
        any_version: Read those of a store that another version of chaosagent wrote, too.

    Raises:
        StoredDataError: They are damaged, or those of another version.
        sqlite3.Error: They cannot be read at all.
    """
    older = older_facts(connection)
    if older is not None:
        raise _of_another_version(older, path, remedy)
    if _columns(connection) != ["key", "value", "checksum"]:
        raise StoredDataError(str(path), "", "it is no store of a study, or its tables are damaged", remedy)
    rows = connection.execute("SELECT key, value, checksum FROM study").fetchall()
    values = {row[0]: row[1] for row in rows}
    if not isinstance(values.get(ID), str):
        raise StoredDataError(str(path), "table study", "the row with key 'id' is missing or damaged", remedy)
    checksums = Checksums(values[ID])
    for row in rows:
        if not checksums.match("study", row):
            where = f"table study, row with key {row[0]!r:.40}"
            raise StoredDataError(str(path), where, "its checksum does not match", remedy)
    if values.pop(KEYS, "") != json.dumps(sorted(values)):
        raise StoredDataError(str(path), "table study", "a row of it is missing", remedy)
    if not any_version and values["chaosagent"] != version_of_store():
        raise _of_another_version(values, path, remedy)
    return Facts(values)


def _columns(connection: sqlite3.Connection) -> list[str]:
    return [row[1] for row in connection.execute("PRAGMA table_info(study)")]


def _of_another_version(facts: Mapping[str, str], path: Path, remedy: str) -> StoredDataError:
    version = f"{facts.get('chaosagent', 'of an unknown version')!s:.60}"
    what = f"it holds a study of chaosagent {version}; this is {version_of_store()}, whose runs may differ"
    return StoredDataError(str(path), "", what, remedy)
