"""Data come in small pieces."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.toxics import MEANS, STREAM, disturbed


@dataclass(frozen=True, slots=True)
class Slicer(OperatorDefaults):
    """What is sent in one piece arrives in many, one after the other.

    Attributes:
        size: Bytes of a piece.
        seconds: Real seconds between two pieces.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name = "network.slicer"
    by_default = False

    size: int = parameter(16, Levels(16, 1, limits=(1, 65_536)))
    seconds: float = parameter(0.001, Levels(0.001, limits=(0.000_001, 1.0)))
    stream: str = parameter("downstream", STREAM)

    @property
    def magnitude(self) -> float:
        """Half with pieces of sixteen bytes, less the larger they are."""
        return 1.0 / (1.0 + self.size / 16.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic(
            "slicer",
            self.stream,
            {"average_size": self.size, "size_variation": 0, "delay": max(1, round(self.seconds * 1_000_000))},
        )
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        return f"what goes {MEANS[self.stream]} comes in pieces of {self.size} bytes, {self.seconds:g} s apart"
