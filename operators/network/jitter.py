"""The network is now fast, now slow."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds


@dataclass(frozen=True, slots=True)
class Jitter(OperatorDefaults):
    """Each piece of data takes another time, between none and twice the mean; none overtakes another.

    Attributes:
        seconds: Mean of the real seconds that a piece of data is held up.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.jitter"
    by_default = False

    seconds: float = parameter(0.2, seconds(0.2))
    stream: str = parameter("downstream", STREAM)

    @property
    def magnitude(self) -> float:
        """Half at five seconds, one in the limit."""
        return self.seconds / (self.seconds + 5.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic(
            "latency", self.stream, {"latency": milliseconds(self.seconds), "jitter": milliseconds(self.seconds)}
        )
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"what goes {MEANS[self.stream]} takes up to {2 * self.seconds:g} s longer, now more, now less"
