"""An agent is not told of a tool that is there."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.descriptions import with_tools


@dataclass(frozen=True, slots=True)
class Missing(OperatorDefaults):
    """A tool is missing from the list of tools; it would still work.

    Attributes:
        index: Which one, counted from 1; where there are fewer, nothing happens.
    """

    name = "tools.missing"
    magnitude = 0.5  # which tool it is says nothing of the strength
    description = "tool number {index} is missing from the list"

    index: int = parameter(1, Levels(1, 2, 3, 4, limits=(1, 1_000)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        left_out = self.index - 1
        return response._replace(
            value=with_tools(response.value, lambda tools: [*tools[:left_out], *tools[left_out + 1 :]])
        )
