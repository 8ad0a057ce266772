"""An agent gets its tools in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter
from chaosagent.operators.descriptions import Tool, with_tools


@dataclass(frozen=True, slots=True)
class Reordered(OperatorDefaults):
    """The list of tools has another order; each tool is described as it is.

    Attributes:
        kind: `rotated` (the first tool comes last) or `reversed`.
    """

    name = "tools.reordered"
    description = "the list of tools is {kind}"

    kind: str = parameter("rotated", Choice("rotated", "reversed"))

    @property
    def magnitude(self) -> float:
        """A quarter when one tool moves, half when all do."""
        return 0.25 if self.kind == "rotated" else 0.5

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_tools(response.value, self._ordered))

    def _ordered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return tools[::-1] if self.kind == "reversed" else [*tools[1:], tools[0]]
