"""What is remembered comes in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class Reorder(OperatorDefaults):
    """A list that is read has its items in another order than they were written; anything else stays.

    Attributes:
        kind: `rotated` (the oldest item comes last) or `reversed`.
    """

    name = "memory.reorder"
    by_default = False
    description = "the items that are read come {kind}"

    kind: str = parameter("rotated", Choice("rotated", "reversed"))

    @property
    def magnitude(self) -> float:
        """A quarter when one item moves, half when all do."""
        return 0.25 if self.kind == "rotated" else 0.5

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        items = response.value
        if not isinstance(items, list | tuple):
            return response
        return response._replace(value=list(items[::-1] if self.kind == "reversed" else [*items[1:], *items[:1]]))
