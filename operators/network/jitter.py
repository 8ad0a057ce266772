"""The network is now fast, now slow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Jitter:
    """Each piece of data takes another time, between none and twice the mean; none overtakes another.

    Attributes:
        seconds: Mean of the real seconds that a piece of data is held up.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.jitter"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": seconds(0.2), "stream": STREAM}
    by_default: ClassVar[bool] = False

    seconds: float = 0.2
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
        """Hold the data up, for chance times."""
        toxic = Toxic(
            "latency", self.stream, {"latency": milliseconds(self.seconds), "jitter": milliseconds(self.seconds)}
        )
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"what goes {MEANS[self.stream]} takes up to {2 * self.seconds:g} s longer, now more, now less"
