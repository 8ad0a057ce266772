"""A model says again what it said before."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults


@dataclass(frozen=True, slots=True)
class RepeatedTurn(OperatorDefaults):
    """The model answers what it answered the last time, whatever it is asked now; the first time, nothing happens."""

    name = "model.repeated_turn"
    by_default = False
    reads_history = True
    magnitude = 0.5  # a whole answer is replaced, by one that was right
    description = "the model answers what it answered the last time"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        earlier = [exchange.response for exchange in crossing.history if exchange.response.failure is None]
        return earlier[-1] if earlier else response
