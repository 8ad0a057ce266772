"""A later message overtakes."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class Reorder(OperatorDefaults):
    """The message is delivered late, so that messages sent after it arrive before it. Its sender goes on at once.

    Operations other than `send` are untouched.

    Attributes:
        seconds: Virtual seconds until the delivery.
    """

    name = "message.reorder"
    description = "the message is delivered {seconds:g} s late; later ones overtake it"

    seconds: float = parameter(5.0, Levels(5.0, limits=(0.001, 86_400.0)))

    @property
    def magnitude(self) -> float:
        """Half at a minute, one in the limit."""
        return self.seconds / (self.seconds + 60.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        if crossing.request.operation != "send":
            return await proceed(crossing.request)
        crossing.defer(self.seconds, proceed, crossing.request)
        return Response()
