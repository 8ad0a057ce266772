"""The server cannot be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Domain
from chaosagent.operators.toxics import disturbed
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Down:
    """Every connection is closed, and none can be made, until the call has ended."""

    name: ClassVar[str] = "network.down"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.NETWORK})
    parameters: ClassVar[Mapping[str, Domain]] = {}

    @property
    def magnitude(self) -> float:
        """One: nothing goes through."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Cut the server off."""
        toxic = Toxic("down", "")
        return await disturbed(crossing, proceed, toxic)

    def describe(self) -> str:
        """Say in one line what it does."""
        return "no connection to the server, neither an old one nor a new one"
