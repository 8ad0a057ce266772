"""A service answers what was true before."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults


@dataclass(frozen=True, slots=True)
class StaleResponse(OperatorDefaults):
    """The answer comes from a cache.

    That is what the interface declares as stale, or what it answered to the same request before. Without such an
    answer nothing happens. The service itself has acted all the same.
    """

    name = "service.stale_response"
    reads_history = True
    magnitude = 0.5  # a whole answer is replaced, by one that was true
    description = "answers from a stale cache"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        earlier = crossing.earlier()
        return response if earlier is None else earlier
