"""The notebook that the agents share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.database import Database


class Notes:
    """Lists of notes by key, behind a memory door.

    Args:
        entries: What people have written before.

    Attributes:
        entries: What is written so far.
    """

    def __init__(self, entries: Mapping[str, Sequence[Plain]]) -> None:
        self.entries: dict[str, list[Plain]] = {key: [*notes] for key, notes in entries.items()}

    @classmethod
    def about(cls, database: Database, ticket_id: str) -> Notes:
        """Return the notebook with what people wrote about a ticket."""
        found = database.rows("SELECT writer, text FROM notes WHERE ticket_id = ? ORDER BY number", ticket_id)
        return cls({ticket_id: [{"by": writer, "source": "people", "text": text} for writer, text in found]})

    def read(self, key: str) -> list[Plain]:
        """Return the notes under a key, oldest first."""
        return list(self.entries.get(key, ()))

    def append(self, key: str, value: Plain) -> None:
        """Add a note."""
        self.entries.setdefault(key, []).append(value)
