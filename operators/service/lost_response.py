"""The connection to a service breaks."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.withhold import MEANS, WHEN, withhold
from chaosagent.vocabulary import Failure


@dataclass(frozen=True, slots=True)
class LostResponse(OperatorDefaults):
    """The connection is reset; the agent sees that at once and cannot tell whether the service has acted.

    Attributes:
        when: `before` the service acts, which then never does, or `after`.
    """

    name = "service.lost_response"

    when: str = parameter("after", WHEN)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        return await withhold(crossing, proceed, self.when, Failure("connection", "connection reset by peer"))

    def describe(self) -> str:
        return f"the connection is reset; {MEANS[self.when]}"
