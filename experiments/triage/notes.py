"""The notebook that the agents share."""

from __future__ import annotations

from chaosagent.canonical import Plain


class Notes:
    """Lists of notes by key, behind a memory door.

    Attributes:
        entries: What is written so far.
    """

    def __init__(self) -> None:
        self.entries: dict[str, list[Plain]] = {}

    def read(self, key: str) -> list[Plain]:
        """Return the notes under a key, oldest first."""
        return list(self.entries.get(key, ()))

    def append(self, key: str, value: Plain) -> None:
        """Add a note."""
        self.entries.setdefault(key, []).append(value)
