"""The connection is closed after so many bytes."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, STREAM, disturbed


@dataclass(frozen=True, slots=True)
class LimitData(OperatorDefaults):
    """The connection is closed as soon as so many bytes have gone through: an answer breaks off in the middle.

    Attributes:
        size: Bytes of each connection that still go through.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.limit_data"
    by_default = False

    size: int = parameter(64, Levels(64, 1, limits=(0, 100_000_000)))
    stream: str = parameter("downstream", STREAM)

    @property
    def magnitude(self) -> float:
        """Half at 64 bytes, less the more goes through."""
        return 1.0 / (1.0 + self.size / 64.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic("limit_data", self.stream, {"bytes": self.size})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"the connection is closed after {self.size} more bytes {MEANS[self.stream]}"
