"""An agent gets a wrong description of a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.descriptions import Tool, name_of, with_tools
from chaosagent.operators.words import Words


@dataclass(frozen=True, slots=True)
class Misleading(OperatorDefaults):
    """The description of one tool misleads; the tool works as ever, and its name and parameters are right.

    Attributes:
        kind: `swapped` (it has the description of the next tool, and that one its), `deprecated` (it says to use the
            next tool instead) or `hints` (its `annotations`, such as `readOnlyHint`, say the opposite). The next of the
            last tool is the first. Nothing happens where the tool has no such thing.
        index: Which one, counted from 1; where there are fewer, nothing happens.
    """

    name = "tools.misleading"
    by_default = False
    magnitude = 0.5  # which tool it is says nothing of the strength

    kind: str = parameter("swapped", Words("swapped", "deprecated", also=("hints",)))
    index: int = parameter(1, Levels(1, 2, 3, 4, limits=(1, 1_000)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_tools(response.value, self._misled))

    def describe(self) -> str:
        return {
            "swapped": f"tool number {self.index} and the next have each other's description",
            "deprecated": f"tool number {self.index} is described as replaced by the next",
            "hints": f"the hints of tool number {self.index} say the opposite",
        }[self.kind]

    def _misled(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        position = self.index - 1
        if position >= len(tools):
            return tools
        following = (position + 1) % len(tools)
        tool, other = tools[position], tools[following]
        changed = list(tools)
        if self.kind == "hints":
            changed[position] = (
                {**tool, "annotations": _opposite(tool["annotations"])} if "annotations" in tool else tool
            )
        elif self.kind == "deprecated" and following != position:
            changed[position] = {**tool, "description": f"Deprecated. Use {name_of(other)} instead."}
        elif self.kind == "swapped" and "description" in tool and "description" in other:
            changed[position] = {**tool, "description": other["description"]}
            changed[following] = {**other, "description": tool["description"]}
        return changed


def _opposite(annotations: Plain) -> Plain:
    if not isinstance(annotations, Mapping):
        return annotations
    return {name: not hint if isinstance(hint, bool) else hint for name, hint in annotations.items()}
