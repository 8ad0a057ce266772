"""A journal may be long, and it may come from a stranger."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from chaosagent.errors import RecordError
from chaosagent.replays import journal as journal_module
from chaosagent.replays.journal import Journal
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.store import read_record
from chaosagent.trace.step import Step

RECORD = Path(__file__).parent / "version-3.replay"


def begun(path: Path) -> tuple[Journal, list[Step]]:
    """Begin a journal of a run, and return it with the steps of the run."""
    record = read_record(RECORD)
    steps = list(record.trace.steps)
    empty: ReplayRecord = dataclasses.replace(record, trace=dataclasses.replace(record.trace, steps=()))
    return Journal(path, empty), steps


def test_steps_bring_the_bytes_that_their_items_need(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    journal, steps = begun(tmp_path / "long.replay")
    for number in range(400):
        journal.append(steps[number % len(steps)])
    journal.close()

    monkeypatch.setattr(journal_module, "ITEMS_MAX", 1_000)  # less than the steps hold

    assert len(read_record(journal.path).trace.steps) == 400


def test_items_that_take_more_memory_than_bytes_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    journal, _ = begun(tmp_path / "bomb.replay")
    for _ in range(3):
        journal._append({"x": [[]] * 400})  # each of them is less than ITEMS_MAX
    journal.close()

    monkeypatch.setattr(journal_module, "ITEMS_MAX", 1_000)

    with pytest.raises(RecordError, match=r"bomb.replay: .*(exceeds max_array_len|more than \d+ items)"):
        read_record(journal.path)
