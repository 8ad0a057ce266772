"""The best passages are missing."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.passages import with_passages


@dataclass(frozen=True, slots=True)
class DropTop(OperatorDefaults):
    """A retriever does not find its best passages; the next ones move up.

    Attributes:
        count: How many are missing.
    """

    name = "retrieval.drop_top"
    monotone = "count"

    count: int = parameter(1, Levels(1, 3, limits=(1, 100)))

    @property
    def magnitude(self) -> float:
        """Half for one passage, towards one for many."""
        return self.count / (self.count + 1)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, lambda passages: passages[self.count :]))

    def describe(self) -> str:
        return "the best passage is missing" if self.count == 1 else f"the best {self.count} passages are missing"
