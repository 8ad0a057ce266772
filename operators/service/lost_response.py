"""The connection to a service breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.withhold import MEANS, WHEN, withhold
from chaosagent.vocabulary import Boundary, Failure


@dataclass(frozen=True, slots=True)
class LostResponse:
    """The connection is reset; the agent sees that at once and cannot tell whether the service has acted.

    Attributes:
        when: `before` the service acts, which then never does, or `after`.
    """

    name: ClassVar[str] = "service.lost_response"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {"when": WHEN}

    when: str = "after"

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
        return await withhold(crossing, proceed, self.when, Failure("connection", "connection reset by peer"))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the connection is reset; {MEANS[self.when]}"
