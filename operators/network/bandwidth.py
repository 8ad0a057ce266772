"""The network lets little through."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, STREAM, disturbed


@dataclass(frozen=True, slots=True)
class Bandwidth(OperatorDefaults):
    """So many kilobytes go through in a second.

    Attributes:
        rate: Kilobytes per second.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.bandwidth"
    by_default = False

    rate: int = parameter(10, Levels(10, 1, limits=(1, 100_000)))
    stream: str = parameter("downstream", STREAM)

    @property
    def magnitude(self) -> float:
        """Half at ten kilobytes per second, less the more goes through."""
        return 1.0 / (1.0 + self.rate / 10.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic("bandwidth", self.stream, {"rate": self.rate})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"{self.rate} kB a second go through {MEANS[self.stream]}"
