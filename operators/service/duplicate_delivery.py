"""A request reaches a service twice."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class DuplicateDelivery(OperatorDefaults):
    """A queue or a proxy delivers the request again after the first answer; the agent asked once and sees one answer.

    Attributes:
        which: The answer that the agent sees, `first` or `last`.
    """

    name = "service.duplicate_delivery"
    magnitude = 0.5  # the world acts twice, the answer is a true one
    description = "the request is delivered twice; the agent sees the {which} answer"

    which: str = parameter("first", Choice("first", "last"))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        first = await proceed(crossing.request)
        last = await proceed(crossing.request)
        return first if self.which == "first" else last
