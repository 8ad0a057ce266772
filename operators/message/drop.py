"""A message between agents gets lost."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults


@dataclass(frozen=True, slots=True)
class Drop(OperatorDefaults):
    """The sender is told that the message was sent; nobody gets it. Operations other than `send` are untouched."""

    name = "message.drop"
    description = "the message gets lost; its sender is not told"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        if crossing.request.operation != "send":
            return await proceed(crossing.request)
        return Response()
