"""The answer of a service never arrives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.withhold import withhold
from chaosagent.vocabulary import Boundary, Failure


@dataclass(frozen=True, slots=True)
class DroppedResponse:
    """The service acts and nothing comes back: no answer, no error, no end of the connection.

    An agent with a time-out of its own runs into that. One without waits as good as for ever: until the
    operating system gives the connection up.

    Attributes:
        seconds: Virtual seconds until then; a bound, so that time always goes on.
    """

    name: ClassVar[str] = "service.dropped_response"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": Levels(86_400.0, limits=(3_600.0, 7 * 86_400.0))}

    seconds: float = 86_400.0

    @property
    def magnitude(self) -> float:
        """One: the whole answer is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Let the agent wait."""
        failure = Failure("timeout", f"no answer within {self.seconds:g} s")
        return await withhold(crossing, proceed, "after", failure, self.seconds)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"nothing comes back, for {self.seconds / 3_600.0:g} h; the service has acted"
