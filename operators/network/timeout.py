"""Nothing goes through, and then the connection is closed."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds


@dataclass(frozen=True, slots=True)
class Timeout(OperatorDefaults):
    """Data disappear, and after some time the connection is closed.

    With `downstream` the server has acted and nothing is heard of it; with `upstream` it never hears of the call. A
    connection that the server closes by itself is closed at once.

    Attributes:
        seconds: Real seconds until the connection is closed; a client with a shorter time-out gives up earlier.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.timeout"

    seconds: float = parameter(2.0, seconds(2.0))
    stream: str = parameter("downstream", STREAM)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic("timeout", self.stream, {"timeout": milliseconds(self.seconds)})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"nothing goes through {MEANS[self.stream]}, and after {self.seconds:g} s the connection is closed"
