"""A part of what is remembered is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Domain, Levels
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Truncate:
    """The memory holds only so much: a list or a text that is read has lost a part. Anything else stays.

    What is stored stays as it is. Operations other than `read` are untouched.

    Attributes:
        lost: `oldest` (the beginning, as in a window that moves on) or `newest` (the end, as behind a limit).
        share: How much is lost, at least one item or character.
    """

    name: ClassVar[str] = "memory.truncate"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MEMORY})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "lost": Choice("oldest", "newest"),
        "share": Levels(0.5, limits=(0.01, 1.0)),
    }
    monotone: ClassVar[str] = "share"
    by_default: ClassVar[bool] = False

    lost: str = "oldest"
    share: float = 0.5

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    @property
    def tokens(self) -> int:
        """None: no text is added, and what is lost is counted by the magnitude."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Cut what is read."""
        response = await proceed(crossing.request)
        return response._replace(value=self._cut(response.value)) if crossing.request.operation == "read" else response

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the {self.lost} {self.share:.0%} of what is read is missing"

    def _cut(self, value: Plain) -> Plain:
        if not isinstance(value, str | list | tuple) or not value:
            return value
        lost = max(1, int(self.share * len(value)))
        return value[lost:] if self.lost == "oldest" else value[:-lost]
