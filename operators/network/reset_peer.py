"""The connection is reset."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, SECONDS_MAX, STREAM, disturbed


@dataclass(frozen=True, slots=True)
class ResetPeer(OperatorDefaults):
    """The connection breaks as soon as something is to go through.

    With `downstream` that is the answer: the server has acted, and its acknowledgement is lost. With `upstream` it is
    the call, which never reaches the server. A connection that is made meanwhile is reset; one that was open before is
    closed, which clients tell apart from a reset by the text of their error.

    Attributes:
        seconds: Real seconds from the data to the reset.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.reset_peer"

    seconds: float = parameter(0.0, Levels(0.0, limits=(0.0, SECONDS_MAX)))
    stream: str = parameter("downstream", STREAM)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic("reset_peer", self.stream, {"timeout": round(self.seconds * 1000)})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"the connection breaks as soon as something goes {MEANS[self.stream]}, which is lost"
