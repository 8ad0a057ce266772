"""The connection is closed after so many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.toxics import MEANS, STREAM, disturbed
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class LimitData:
    """The connection is closed as soon as so many bytes have gone through: an answer breaks off in the middle.

    Attributes:
        size: Bytes of each connection that still go through.
        stream: What comes `downstream` from the server, or goes `upstream` to it.
    """

    name: ClassVar[str] = "network.limit_data"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {"size": Levels(64, 1, limits=(0, 100_000_000)), "stream": STREAM}
    by_default: ClassVar[bool] = False

    size: int = 64
    stream: str = "downstream"

    @property
    def magnitude(self) -> float:
        """Half at 64 bytes, less the more goes through."""
        return 1.0 / (1.0 + self.size / 64.0)

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Let so much through."""
        toxic = Toxic("limit_data", self.stream, {"bytes": self.size})
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the connection is closed after {self.size} more bytes {MEANS[self.stream]}"
