"""A write is acknowledged and not applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class LostUpdate:
    """A write to the memory gets lost, as in a collision; who wrote is told what the last write was told.

    Operations other than `write` and `append` are untouched.
    """

    name: ClassVar[str] = "memory.lost_update"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MEMORY})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    reads_history: ClassVar[bool] = True

    @property
    def magnitude(self) -> float:
        """One: the whole write is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Acknowledge, and do nothing."""
        operation = crossing.request.operation
        if operation not in ("write", "append"):
            return await proceed(crossing.request)
        acknowledged = (
            exchange.response
            for exchange in reversed(crossing.history)
            if exchange.request.operation == operation and exchange.response.failure is None
        )
        return next(acknowledged, Response())

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the write is acknowledged and not applied"
