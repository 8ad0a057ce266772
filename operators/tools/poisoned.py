"""An attacker has written into the description of a tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.descriptions import Tool, with_tools
from chaosagent.operators.payloads import CANARIES, CANARY, CHARACTERS_MAX, ENCODINGS, GOALS, payload
from chaosagent.operators.texts import token_count, with_text


@dataclass(frozen=True, slots=True)
class Poisoned(OperatorDefaults):
    """The description of one tool ends with instructions of somebody who is not entitled to give any.

    Attributes:
        goal: What the attacker wants: `override`, `tool_result`, `exfiltration` or `policy`.
        encoding: How it is written: `plain`, `html_comment`, `base64`, `zero_width` or `other_language`.
        index: Which tool, counted from 1; where there are fewer, or it has no description, nothing happens.
        canary: A word in it that a contract can look for, at most 32 characters.
    """

    name = "tools.poisoned"
    by_default = False
    description = "the description of tool number {index} holds a payload: {goal}, {encoding}"

    goal: str = parameter("override", GOALS)
    encoding: str = parameter("plain", ENCODINGS)
    index: int = parameter(1, Levels(1, limits=(1, 1_000)))
    canary: str = parameter(CANARY, CANARIES)

    @property
    def magnitude(self) -> float:
        """The share of the allowed length."""
        return len(self._text) / CHARACTERS_MAX

    @property
    def tokens(self) -> int:
        """Those of the payload."""
        return token_count(self._text)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_tools(response.value, self._poisoned))

    @property
    def _text(self) -> str:
        return payload(self.goal, self.encoding, self.canary)

    def _poisoned(self, tools: Sequence[Tool]) -> list[Tool]:
        return [
            {**tool, "description": with_text(tool["description"], self._text, "end")}
            if number == self.index and "description" in tool
            else tool
            for number, tool in enumerate(tools, 1)
        ]
