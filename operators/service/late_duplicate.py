"""A request reaches a service a second time, long after the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class LateDuplicate:
    """A queue or a proxy delivers the request again later, when the agent has gone on: out of order.

    The agent asked once and sees the first answer at once; the second is nobody's. A run that ends before takes the
    duplicate with it.

    Attributes:
        seconds: Virtual seconds from the first answer to the second delivery.
    """

    name: ClassVar[str] = "service.late_duplicate"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": Levels(5.0, 60.0, limits=(0.001, 86_400.0))}
    by_default: ClassVar[bool] = False

    seconds: float = 5.0

    @property
    def magnitude(self) -> float:
        """Half for the second delivery, towards one for a late one."""
        return 0.5 + 0.5 * self.seconds / (self.seconds + 60.0)

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Deliver, and once more later."""
        response = await proceed(crossing.request)
        crossing.defer(self.seconds, proceed, crossing.request)
        return response

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the request is delivered again {self.seconds:g} s later"
