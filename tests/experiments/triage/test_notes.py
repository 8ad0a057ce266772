"""The notebook of the agents begins with what people wrote."""

from __future__ import annotations

from chaosagent.experiments.triage.database import Database
from chaosagent.experiments.triage.facts import text_of
from chaosagent.experiments.triage.notes import Notes


def test_what_people_wrote_comes_first_and_only_about_the_ticket() -> None:
    database = Database()
    try:
        notes, others = Notes.about(database, "T-214"), Notes.about(database, "T-201")
    finally:
        database.close()

    notes.append("T-214", {"source": "planner"})

    assert [text_of(note, "source") for note in notes.read("T-214")] == ["people", "people", "planner"]
    assert others.read("T-201") == []


def test_what_was_read_does_not_change_with_what_is_written_later() -> None:
    notes = Notes({"k": ["a"]})
    before = notes.read("k")

    notes.append("k", "b")

    assert (before, notes.read("k")) == (["a"], ["a", "b"])
