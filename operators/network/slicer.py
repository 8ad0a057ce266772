"""Data come in small pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.toxics import MEANS, STREAM, disturbed
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Slicer:
    """What is sent in one piece arrives in many, one after the other.

    Attributes:
        size: Bytes of a piece.
        seconds: Real seconds between two pieces.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.slicer"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "size": Levels(16, 1, limits=(1, 65_536)),
        "seconds": Levels(0.001, limits=(0.000_001, 1.0)),
        "stream": STREAM,
    }
    by_default: ClassVar[bool] = False

    size: int = 16
    seconds: float = 0.001
    stream: str = "downstream"

    @property
    def magnitude(self) -> float:
        """Half with pieces of sixteen bytes, less the larger they are."""
        return 1.0 / (1.0 + self.size / 16.0)

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Cut the data up."""
        toxic = Toxic(
            "slicer",
            self.stream,
            {"average_size": self.size, "size_variation": 0, "delay": max(1, round(self.seconds * 1_000_000))},
        )
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"what goes {MEANS[self.stream]} comes in pieces of {self.size} bytes, {self.seconds:g} s apart"
