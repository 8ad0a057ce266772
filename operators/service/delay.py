"""The answer of a service arrives later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Delay:
    """The service acts at once, and its answer arrives late.

    Attributes:
        seconds: Virtual seconds from the answer to its arrival.
    """

    name: ClassVar[str] = "service.delay"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": Levels(5.0, 60.0, limits=(0.001, 86_400.0))}
    monotone: ClassVar[str] = "seconds"

    seconds: float = 5.0

    @property
    def magnitude(self) -> float:
        """Half at a minute, one in the limit."""
        return self.seconds / (self.seconds + 60.0)

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Hold the answer back."""
        response = await proceed(crossing.request)
        await crossing.sleep(self.seconds)
        return response

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the answer arrives {self.seconds:g} s late"
