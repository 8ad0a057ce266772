"""A message between agents arrives twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The message is delivered twice, one right after the other. Operations other than `send` are untouched."""

    name: ClassVar[str] = "message.duplicate"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MESSAGE})
    parameters: ClassVar[Mapping[str, Domain]] = {}

    @property
    def magnitude(self) -> float:
        """One half: nothing is lost or wrong."""
        return 0.5

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Deliver twice."""
        response = await proceed(crossing.request)
        if crossing.request.operation == "send":
            await proceed(crossing.request)
        return response

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the message arrives twice"
