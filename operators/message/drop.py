"""A message between agents gets lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Drop:
    """The sender is told that the message was sent; nobody gets it. Operations other than `send` are untouched."""

    name: ClassVar[str] = "message.drop"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MESSAGE})
    parameters: ClassVar[Mapping[str, Domain]] = {}

    @property
    def magnitude(self) -> float:
        """One: the whole message is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Lose the message."""
        if crossing.request.operation != "send":
            return await proceed(crossing.request)
        return Response()

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the message gets lost; its sender is not told"
