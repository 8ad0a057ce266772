"""A connection is not closed at once."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds


@dataclass(frozen=True, slots=True)
class SlowClose(OperatorDefaults):
    """The connection stays open for a while after the other side has closed it.

    Attributes:
        seconds: Real seconds.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.slow_close"
    by_default = False

    seconds: float = parameter(1.0, seconds(1.0, 5.0))
    stream: str = parameter("downstream", STREAM)

    @property
    def magnitude(self) -> float:
        """Half at five seconds, one in the limit."""
        return self.seconds / (self.seconds + 5.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic("slow_close", self.stream, {"delay": milliseconds(self.seconds)})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"a connection that is closed stays open {MEANS[self.stream]} for {self.seconds:g} s"
