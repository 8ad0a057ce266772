"""Reads what the searches of a store have asked, so that a resumed study need not find it out again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from chaosagent.faults.evaluation_codec import stored_schedule
from chaosagent.study.loop.asked_before import StoredTrials
from chaosagent.study.searcher import Proposal, Purpose
from chaosagent.study.store.tables import schedule_text
from chaosagent.study.task_seed import TaskSeed

READ_AT_ONCE = 256
_SEARCH = "trial.task = ? AND trial.seed = ? AND contract = ?"
_COUNT = f"SELECT count(*) FROM trial WHERE {_SEARCH} AND purpose <> ?"
_PART = f"""SELECT number, purpose, schedule FROM trial JOIN execution ON execution.id = trial.execution
WHERE {_SEARCH} AND number BETWEEN ? AND ? ORDER BY number"""


class TrialReader:
    """Reads the trials of a store that was checked.

    Args:
        execute: Executes a statement.
        number_of: Returns the number of a name.
    """

    def __init__(
        self, execute: Callable[[str, Sequence[object]], sqlite3.Cursor], number_of: Callable[[str], int]
    ) -> None:
        self._execute, self._number_of = execute, number_of
        self._names = dict(execute("SELECT id, text FROM name", ()).fetchall())

    def trials_of(self, at: TaskSeed, contract: str) -> StoredTrials:
        """Return the trials of a search."""
        search = self._number_of(at.task_id), self._number_of(str(at.seed)), self._number_of(contract)
        [(asked,)] = self._execute(_COUNT, (*search, Purpose.SHRINK.value)).fetchall()
        return StoredTrials(asked, lambda first: self._read(search, first))

    def _read(self, search: tuple[int, ...], first: int) -> list[Proposal]:
        """Return trials from a number on, up to one that is missing: what follows that was asked with it."""
        rows = self._execute(_PART, (*search, first, first + READ_AT_ONCE - 1)).fetchall()
        return [
            Proposal(stored_schedule(schedule_text(schedule, self._names)), Purpose(purpose))
            for place, (number, purpose, schedule) in enumerate(rows, first)
            if number == place
        ]
