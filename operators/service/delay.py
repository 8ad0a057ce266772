"""The answer of a service arrives later."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class Delay(OperatorDefaults):
    """The service acts at once, and its answer arrives late.

    Attributes:
        seconds: Virtual seconds from the answer to its arrival.
    """

    name = "service.delay"
    monotone = "seconds"
    description = "the answer arrives {seconds:g} s late"

    seconds: float = parameter(5.0, Levels(5.0, 60.0, limits=(0.001, 86_400.0)))

    @property
    def magnitude(self) -> float:
        """Half at a minute, one in the limit."""
        return self.seconds / (self.seconds + 60.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        await crossing.sleep(self.seconds)
        return response
