"""A write is acknowledged and not applied."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults


@dataclass(frozen=True, slots=True)
class LostUpdate(OperatorDefaults):
    """A write to the memory gets lost, as in a collision; the writer gets the answer that the last write got.

    Operations other than `write` and `append` are untouched.
    """

    name = "memory.lost_update"
    reads_history = True
    description = "the write is acknowledged and not applied"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        operation = crossing.request.operation
        if operation not in ("write", "append"):
            return await proceed(crossing.request)
        acknowledged = (
            exchange.response
            for exchange in reversed(crossing.history)
            if exchange.request.operation == operation and exchange.response.failure is None
        )
        return next(acknowledged, Response())
