"""The network is slow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Latency:
    """Everything that crosses the connection takes longer; answers come late, or too late for the client.

    Attributes:
        seconds: Real seconds that each piece of data is held up.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.latency"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": seconds(0.5, 3.0), "stream": STREAM}

    seconds: float = 0.5
    stream: str = "downstream"

    @property
    def magnitude(self) -> float:
        """Half at five seconds, one in the limit."""
        return self.seconds / (self.seconds + 5.0)

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Hold the data up."""
        toxic = Toxic("latency", self.stream, {"latency": milliseconds(self.seconds), "jitter": 0})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"what goes {MEANS[self.stream]} takes {self.seconds:g} s longer"
