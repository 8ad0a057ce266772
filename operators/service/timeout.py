"""A call to a service times out."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.withhold import MEANS, WHEN, withhold
from chaosagent.vocabulary import Failure


@dataclass(frozen=True, slots=True)
class Timeout(OperatorDefaults):
    """The client gives up waiting; the agent cannot tell whether the service has acted.

    Attributes:
        when: `before` the service acts, which then never does, or `after`.
        seconds: Virtual seconds until the time-out.
    """

    name = "service.timeout"

    when: str = parameter("before", WHEN)
    seconds: float = parameter(30.0, Levels(30.0, limits=(0.001, 86_400.0)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        failure = Failure("timeout", f"timed out after {self.seconds:g} s")
        return await withhold(crossing, proceed, self.when, failure, self.seconds)

    def describe(self) -> str:
        return f"times out after {self.seconds:g} s; {MEANS[self.when]}"
