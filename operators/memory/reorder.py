"""What is remembered comes in the wrong order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Reorder:
    """A list that is read has its items in another order than they were written; anything else stays.

    Attributes:
        kind: `rotated` (the oldest item comes last) or `reversed`.
    """

    name: ClassVar[str] = "memory.reorder"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MEMORY})
    parameters: ClassVar[Mapping[str, Domain]] = {"kind": Choice("rotated", "reversed")}
    by_default: ClassVar[bool] = False

    kind: str = "rotated"

    @property
    def magnitude(self) -> float:
        """A quarter when one item moves, half when all do."""
        return 0.25 if self.kind == "rotated" else 0.5

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Give the items another order."""
        response = await proceed(crossing.request)
        items = response.value
        if not isinstance(items, list | tuple):
            return response
        return response._replace(value=list(items[::-1] if self.kind == "reversed" else [*items[1:], *items[:1]]))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the items that are read come {self.kind}"
