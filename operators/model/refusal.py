"""A model refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.answers import said_instead
from chaosagent.vocabulary import Boundary

REFUSAL = "I'm sorry, but I can't help with that."


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model refuses what it was asked: its answer is a refusal, and it calls no tool."""

    name: ClassVar[str] = "model.refusal"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MODEL})
    parameters: ClassVar[Mapping[str, Domain]] = {}

    @property
    def magnitude(self) -> float:
        """One: the whole answer is replaced."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Refuse."""
        response = await proceed(crossing.request)
        return response._replace(value=said_instead(response.value, REFUSAL))

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the model refuses and calls no tool"
