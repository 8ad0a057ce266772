"""A message between agents arrives twice."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults


@dataclass(frozen=True, slots=True)
class Duplicate(OperatorDefaults):
    """The message is delivered twice, one right after the other. Operations other than `send` are untouched."""

    name = "message.duplicate"
    magnitude = 0.5  # nothing is lost or wrong
    description = "the message arrives twice"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        if crossing.request.operation == "send":
            await proceed(crossing.request)
        return response
