"""Makes one store of those of the shards of a study."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation_codec import encode_shared
from chaosagent.sqlite_file import SQLITE_ERRORS, Checksums, new_file_id, open_private
from chaosagent.study.store.facts import ID, Facts, names_in, write_all
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.foreign_files import refuse_foreign_files
from chaosagent.study.store.lock import lock_folder
from chaosagent.study.store.names import NameWriter
from chaosagent.study.store.parts import PartWriter
from chaosagent.study.store.reading import ClosedStore, open_closed_store
from chaosagent.study.store.tables import SCHEMA, execution_row, version_of_store

STUDY_NAME = "study.yaml"
SAME = ("plan", "runs", "chaosagent", "target", "config", "code")


def merge_stores(out: Path, folders: Sequence[Path]) -> int:
    """Put what the shards of a study have run into one new store, from which the whole study is resumed.

    What they have proved is not taken over: the resumed study tells the searchers all runs again, without making any,
    so that proofs rest on all shards.

    Args:
        out: Folder of the whole study; must hold none.
        folders: Those of its shards, each once.

    Returns:
        How many runs there are.

    Raises:
        UsageError: A folder holds no shard, they are of different studies, one is missing or given twice, runs cannot
            be taken over (answers come by chance, or hold secrets), or the new folder cannot be written to; nothing was
            written.
        StoredDataError: A store is damaged, of another version, or its study is at work or was killed.
        StudyError: Another process works in the new folder.
    """
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(open_closed_store(_store_in(folder))) for folder in folders]
        _check(stores, folders)
        text = _study_in(folders[0])
        refuse_foreign_files(out)
        _check_new(out, text)  # before the lock, which writes to the folder
        stack.enter_context(lock_folder(out))
        _check_new(out, text)
        path = out / FILE_NAME
        fresh = path.with_name(f".writing-{FILE_NAME}")
        try:
            with contextlib.closing(open_private(fresh)) as connection:
                count = _write(connection, stores)
            (out / STUDY_NAME).write_text(text, "utf-8")
            fresh.replace(path)
        except (OSError, *SQLITE_ERRORS) as error:
            raise UsageError(
                f"{out}: the study cannot be stored there: {error}. Make room, or name another folder."
            ) from error
        finally:
            fresh.unlink(missing_ok=True)
    return count


def _check_new(out: Path, text: str) -> None:
    """Refuse a folder in which a store or a study file would be replaced; a killed merge left the same text."""
    if os.path.lexists(out / FILE_NAME):
        raise UsageError(f"{out} holds a study already. Name another folder, or delete it.")
    if os.path.lexists(out / STUDY_NAME) and _study_in(out) != text:
        raise UsageError(f"{out / STUDY_NAME} is another study file, and would be replaced. Name a new folder.")


def _store_in(folder: Path) -> Path:
    path = folder / FILE_NAME
    if not path.is_file():
        raise UsageError(
            f"{folder} holds no study: there is no {FILE_NAME}. Name the folders that --shard has written."
        )
    return path


def _study_in(folder: Path) -> str:
    path = folder / STUDY_NAME
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"{path}: {what}. Put the study file that the shards were searched with there.") from error


def _check(stores: Sequence[ClosedStore], folders: Sequence[Path]) -> None:
    """Refuse what are not all shards of one study."""
    first = stores[0].facts
    given: dict[str, Path] = {}
    for store, folder in zip(stores, folders, strict=True):
        facts, shard = store.facts, store.facts.get("shard", "")
        if not shard:
            raise UsageError(f"{folder} holds a whole study and no shard of one: it was searched without --shard.")
        different = next((key for key in SAME if facts.get(key) != first.get(key)), None)
        if different is not None:
            what = {"plan": "another study file or other options", "code": "another version of the target's code"}
            raise UsageError(
                f"{folder} and {folders[0]} are no shards of one study: they were searched with "
                f"{what.get(different, f'another {different}')}."
            )
        if facts.get("stochastic") == "yes":
            raise UsageError(
                f"{folder}: the target's answers come by chance, and each shard has frozen its own. Such a study "
                "cannot be merged; search it whole, or each task as a study of its own."
            )
        if store.connection.execute("SELECT 1 FROM execution WHERE evaluation IS NULL LIMIT 1").fetchone() is not None:
            raise UsageError(
                f"{folder}: the target has secrets, so what runs told was not stored. Such a study cannot be merged."
            )
        if shard in given:
            raise UsageError(f"{folder} and {given[shard]} are both shard {shard}. Give each once.")
        given[shard] = folder
    number = int(first["shard"].partition("/")[2])
    missing = [f"{one}/{number}" for one in range(1, number + 1) if f"{one}/{number}" not in given]
    if missing:
        raise UsageError(
            f"of the {number} shards {', '.join(missing)} is missing. Search it (--shard), and merge then."
        )


def _write(connection: sqlite3.Connection, stores: Sequence[ClosedStore]) -> int:
    facts = _facts_of(stores)
    connection.executescript(f"BEGIN; {SCHEMA}")
    parts, count = PartWriter(connection), 0
    number_of = NameWriter(lambda row: _insert(connection, facts.checksums, "name", row), {}).number_of
    for store in stores:
        texts = dict(store.connection.execute("SELECT id, text FROM name"))
        evaluations = store.evaluations("execution")
        rows = store.connection.execute("SELECT * FROM execution ORDER BY id")
        for (_, key, task, seed, world, *columns), (_, evaluation) in zip(rows, evaluations, strict=True):
            count += 1
            place = number_of(texts[task]), number_of(texts[seed]), world
            data = encode_shared(evaluation, parts.number_of)
            row = execution_row(key, place, evaluation, columns[4], data, number_of=number_of)
            new = parts.new_row()
            if new is not None:
                _insert(connection, facts.checksums, "part", new)
            _insert(connection, facts.checksums, "execution", (count, *row))
    differing = [row[:-1] for store in stores for row in store.connection.execute("SELECT * FROM differing")]
    for row in differing:
        _insert(connection, facts.checksums, "differing", row)
    facts["differing"] = str(len(differing))
    write_all(connection, facts)
    connection.execute("COMMIT")
    return count


def _insert(connection: sqlite3.Connection, checksums: Checksums, table: str, row: Sequence[object]) -> None:
    marks = "?, " * len(row)
    connection.execute(f"INSERT INTO {table} VALUES ({marks}?)", (*row, checksums.of(table, row)))


def _facts_of(stores: Sequence[ClosedStore]) -> Facts:
    first: Mapping[str, str] = stores[0].facts
    kept = {key: first[key] for key in (*SAME, "begun", "stochastic", "operators") if key in first}
    met = {name for store in stores for name in names_in(store.facts, "boundaries")}
    kept["boundaries"] = json.dumps(sorted(met))
    seconds = sum(float(store.facts.get("seconds", "0")) for store in stores)
    return Facts({**kept, ID: new_file_id(), "chaosagent": version_of_store(), "seconds": f"{seconds:.1f}"})
