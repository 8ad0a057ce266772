"""A request reaches a service a second time, long after the first."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class LateDuplicate(OperatorDefaults):
    """A queue or a proxy delivers the request again later, when the agent has gone on: out of order.

    The agent asked once and sees the first answer at once; the second is nobody's. A run that ends before takes the
    duplicate with it.

    Attributes:
        seconds: Virtual seconds from the first answer to the second delivery.
    """

    name = "service.late_duplicate"
    by_default = False
    description = "the request is delivered again {seconds:g} s later"

    seconds: float = parameter(5.0, Levels(5.0, 60.0, limits=(0.001, 86_400.0)))

    @property
    def magnitude(self) -> float:
        """Half for the second delivery, towards one for a late one."""
        return 0.5 + 0.5 * self.seconds / (self.seconds + 60.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        crossing.defer(self.seconds, proceed, crossing.request)
        return response
