"""Tasks that are over, as rows of a store: a resumed study takes their results from there and does not search again."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Mapping

from chaosagent.canonical import pack_plain, unpack
from chaosagent.errors import ChaosAgentError
from chaosagent.study.result import StoredCounts, TaskResult
from chaosagent.study.store.reading import UNREADABLE
from chaosagent.study.store.tables import Row
from chaosagent.study.store.typed_codec import from_plain, to_plain

_RUNS = "SELECT task, count(*), sum(status = 'error') FROM execution GROUP BY task"
_TRIALS = "SELECT task, count(*) FROM trial GROUP BY task"


def finished_row(result: TaskResult) -> Row:
    """Return the row of a task that is over."""
    return result.task_id, zlib.compress(pack_plain(to_plain(result)))


def counts_by_task(connection: sqlite3.Connection) -> Mapping[str, StoredCounts]:
    """Return how many runs and trials a store holds of each task."""
    names, trials = dict(connection.execute("SELECT id, text FROM name")), dict(connection.execute(_TRIALS))
    return {
        names[task]: StoredCounts(executions, errors, trials.get(task, 0))
        for task, executions, errors in connection.execute(_RUNS)
    }


def sum_of(counts: Iterable[StoredCounts]) -> StoredCounts:
    """Return the counts of several tasks together."""
    listed = list(counts)
    return StoredCounts(
        sum(one.executions for one in listed), sum(one.errors for one in listed), sum(one.trials for one in listed)
    )


def read_finished(connection: sqlite3.Connection, counts: Mapping[str, StoredCounts]) -> Mapping[str, TaskResult]:
    """Return the tasks whose results can be taken from a store that was checked.

    Left out, and so searched again, is a task whose result cannot be read, as one that names an operator which is not
    installed any more, and one of which the store holds more or fewer runs or trials than the result speaks of.

    Args:
        connection: To the store.
        counts: Of what it holds.
    """
    found: dict[str, TaskResult] = {}
    for task_id, data in connection.execute("SELECT task, data FROM finished ORDER BY task"):
        try:
            result = from_plain(TaskResult, unpack(zlib.decompress(data)))
        except (*UNREADABLE, ChaosAgentError):
            continue
        tally, held = result.tally, counts.get(task_id, StoredCounts())
        if (held.executions, held.trials) == (tally.executions + tally.unused_earlier, tally.trials):
            found[task_id] = result
    return found
