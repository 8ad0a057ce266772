"""A later message overtakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Reorder:
    """The message is delivered late, so that messages sent after it arrive before it. Its sender goes on at once.

    Operations other than `send` are untouched.

    Attributes:
        seconds: Virtual seconds until the delivery.
    """

    name: ClassVar[str] = "message.reorder"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MESSAGE})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": Levels(5.0, limits=(0.001, 86_400.0))}

    seconds: float = 5.0

    @property
    def magnitude(self) -> float:
        """Half at a minute, one in the limit."""
        return self.seconds / (self.seconds + 60.0)

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Deliver later."""
        if crossing.request.operation != "send":
            return await proceed(crossing.request)
        crossing.defer(self.seconds, proceed, crossing.request)
        return Response()

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the message is delivered {self.seconds:g} s late; later ones overtake it"
