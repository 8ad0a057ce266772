"""A connection is not closed at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class SlowClose:
    """The connection stays open for a while after the other side has closed it.

    Attributes:
        seconds: Real seconds.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.slow_close"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": seconds(1.0, 5.0), "stream": STREAM}
    by_default: ClassVar[bool] = False

    seconds: float = 1.0
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
        """Keep it open."""
        toxic = Toxic("slow_close", self.stream, {"delay": milliseconds(self.seconds)})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"a connection that is closed stays open {MEANS[self.stream]} for {self.seconds:g} s"
