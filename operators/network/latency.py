"""The network is slow."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds


@dataclass(frozen=True, slots=True)
class Latency(OperatorDefaults):
    """Everything that crosses the connection takes longer; answers come late, or too late for the client.

    Attributes:
        seconds: Real seconds that each piece of data is held up.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.latency"

    seconds: float = parameter(0.5, seconds(0.5, 3.0))
    stream: str = parameter("downstream", STREAM)

    @property
    def magnitude(self) -> float:
        """Half at five seconds, one in the limit."""
        return self.seconds / (self.seconds + 5.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic("latency", self.stream, {"latency": milliseconds(self.seconds), "jitter": 0})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"what goes {MEANS[self.stream]} takes {self.seconds:g} s longer"
