"""Nothing goes through, and then the connection is closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain
from chaosagent.operators.toxics import MEANS, STREAM, disturbed, milliseconds, seconds
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Timeout:
    """Data disappear, and after some time the connection is closed.

    With `downstream` the server has acted and nothing is heard of it; with `upstream` it never hears of the call. A
    connection that the server closes by itself is closed at once.

    Attributes:
        seconds: Real seconds until the connection is closed; a client with a shorter time-out gives up earlier.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.timeout"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": seconds(2.0), "stream": STREAM}

    seconds: float = 2.0
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
        """Let nothing through."""
        toxic = Toxic("timeout", self.stream, {"timeout": milliseconds(self.seconds)})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"nothing goes through {MEANS[self.stream]}, and after {self.seconds:g} s the connection is closed"
