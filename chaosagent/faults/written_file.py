"""One file that a target writes, and so keeps from one run to the next."""

from __future__ import annotations

from typing import NamedTuple


class WrittenFile(NamedTuple):
    """A file that was opened for writing, or a database that was opened in it.

    Attributes:
        file: Its path; below the working directory from there.
        place: Where in the user's code, such as `"agent.py:12 in pay"`.
    """

    file: str
    place: str

    def __str__(self) -> str:
        return f"{self.file} ({self.place})"
