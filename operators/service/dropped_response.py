"""The answer of a service never arrives."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.withhold import withhold
from chaosagent.vocabulary import Failure


@dataclass(frozen=True, slots=True)
class DroppedResponse(OperatorDefaults):
    """The service acts and nothing comes back: no answer, no error, no end of the connection.

    An agent with a time-out of its own runs into that. One without waits as good as for ever: until the
    operating system gives the connection up.

    Attributes:
        seconds: Virtual seconds until then; a bound, so that time always goes on.
    """

    name = "service.dropped_response"

    seconds: float = parameter(86_400.0, Levels(86_400.0, limits=(3_600.0, 7 * 86_400.0)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        failure = Failure("timeout", f"no answer within {self.seconds:g} s")
        return await withhold(crossing, proceed, "after", failure, self.seconds)

    def describe(self) -> str:
        return f"nothing comes back, for {self.seconds / 3_600.0:g} h; the service has acted"
