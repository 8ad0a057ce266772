"""A model says again what it said before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class RepeatedTurn:
    """The model answers what it answered the last time, whatever it is asked now; the first time, nothing happens."""

    name: ClassVar[str] = "model.repeated_turn"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MODEL})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    by_default: ClassVar[bool] = False
    reads_history: ClassVar[bool] = True

    @property
    def magnitude(self) -> float:
        """One half: a whole answer is replaced, by one that was right."""
        return 0.5

    @property
    def tokens(self) -> int:
        """None: what a model writes is a fault here, which the magnitude counts."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Repeat the answer."""
        response = await proceed(crossing.request)
        earlier = [exchange.response for exchange in crossing.history if exchange.response.failure is None]
        return earlier[-1] if earlier else response

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the model answers what it answered the last time"
