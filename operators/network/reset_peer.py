"""The connection is reset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.toxics import MEANS, SECONDS_MAX, STREAM, disturbed
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class ResetPeer:
    """The connection breaks as soon as something is to go through.

    With `downstream` that is the answer: the server has acted, and its acknowledgement is lost. With `upstream` it is
    the call, which never reaches the server. A connection that is made meanwhile is reset; one that was open before is
    closed, which clients tell apart from a reset by the text of their error.

    Attributes:
        seconds: Real seconds from the data to the reset.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.reset_peer"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": Levels(0.0, limits=(0.0, SECONDS_MAX)), "stream": STREAM}

    seconds: float = 0.0
    stream: str = "downstream"

    @property
    def magnitude(self) -> float:
        """One: the whole answer is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Break the connection."""
        toxic = Toxic("reset_peer", self.stream, {"timeout": round(self.seconds * 1000)})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the connection breaks as soon as something goes {MEANS[self.stream]}, which is lost"
