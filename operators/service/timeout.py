"""A call to a service times out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.withhold import MEANS, WHEN, withhold
from chaosagent.vocabulary import Boundary, Failure


@dataclass(frozen=True, slots=True)
class Timeout:
    """The client gives up waiting; the agent cannot tell whether the service has acted.

    Attributes:
        when: `before` the service acts, which then never does, or `after`.
        seconds: Virtual seconds until the time-out.
    """

    name: ClassVar[str] = "service.timeout"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "when": WHEN,
        "seconds": Levels(30.0, limits=(0.001, 86_400.0)),
    }

    when: str = "before"
    seconds: float = 30.0

    @property
    def magnitude(self) -> float:
        """One: the whole answer is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Wait, and give up."""
        failure = Failure("timeout", f"timed out after {self.seconds:g} s")
        return await withhold(crossing, proceed, self.when, failure, self.seconds)

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"times out after {self.seconds:g} s; {MEANS[self.when]}"
