"""The network lets little through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.toxics import MEANS, STREAM, disturbed
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """So many kilobytes go through in a second.

    Attributes:
        rate: Kilobytes per second.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.bandwidth"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {"rate": Levels(10, 1, limits=(1, 100_000)), "stream": STREAM}
    by_default: ClassVar[bool] = False

    rate: int = 10
    stream: str = "downstream"

    @property
    def magnitude(self) -> float:
        """Half at ten kilobytes per second, less the more goes through."""
        return 1.0 / (1.0 + self.rate / 10.0)

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Let so much through."""
        toxic = Toxic("bandwidth", self.stream, {"rate": self.rate})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"{self.rate} kB a second go through {MEANS[self.stream]}"
