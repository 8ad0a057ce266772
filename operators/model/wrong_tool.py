"""A model calls another tool than it meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.answers import ToolCall, tool_calls, with_first_call

TOOLS_MAX = 1_000
"""Tools of a request that are looked at."""


@dataclass(frozen=True, slots=True)
class WrongTool(OperatorDefaults):
    """The first tool call of the answer goes to another tool, with the same arguments.

    The other tools are those of the request (its `tools`) and of the further calls of the answer, in this order; where
    there are too few, nothing happens.

    Attributes:
        index: Which one of the other tools, counted from 1.
    """

    name = "model.wrong_tool"
    by_default = False
    magnitude = 0.5  # which tool it is says nothing of the strength
    description = "the first tool call goes to another tool, number {index} of those at hand"

    index: int = parameter(1, Levels(1, 2, limits=(1, 1_000)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        names = [*_names(crossing.request.arguments.get("tools")), *_names(tool_calls(response.value))]
        return response._replace(value=with_first_call(response.value, lambda call: self._exchanged(call, names)))

    def _exchanged(self, call: ToolCall, names: list[str]) -> ToolCall:
        others = list(dict.fromkeys(name for name in names if name != call.get("name")))
        if not isinstance(call.get("name"), str) or self.index > len(others):
            return call
        return {**call, "name": others[self.index - 1]}


def _names(tools: Plain) -> list[str]:
    """Return the names in a list of tools or calls: names, mappings with one, or those under `function`."""
    found: list[str] = []
    for tool in tools[:TOOLS_MAX] if isinstance(tools, list | tuple) else ():
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else tool
        name = inner.get("name") if isinstance(inner, Mapping) else inner
        if isinstance(name, str) and name:
            found.append(name)
    return found
