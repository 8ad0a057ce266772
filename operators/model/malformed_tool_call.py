"""A model calls a tool wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter
from chaosagent.operators.answers import ToolCall, arguments_json, with_first_call

_MAGNITUDES = {"missing_argument": 0.25, "unknown_tool": 0.5, "truncated_json": 0.75}


@dataclass(frozen=True, slots=True)
class MalformedToolCall(OperatorDefaults):
    """The first tool call in the answer of a model is broken.

    Attributes:
        kind: `missing_argument` (the first one in sorted order), `unknown_tool` (one that does not exist) or
            `truncated_json` (the arguments are a text, the first half of their JSON).
    """

    name = "model.malformed_tool_call"

    kind: str = parameter("truncated_json", Choice("missing_argument", "unknown_tool", "truncated_json"))

    @property
    def magnitude(self) -> float:
        """How much of the call is lost: an argument, the tool, or all arguments."""
        return _MAGNITUDES[self.kind]

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_first_call(response.value, self._broken))

    def describe(self) -> str:
        return f"the first tool call is malformed: {self.kind.replace('_', ' ')}"

    def _broken(self, call: ToolCall) -> ToolCall:
        name, arguments = call.get("name"), call.get("arguments")
        if self.kind == "unknown_tool" and isinstance(name, str):
            return {**call, "name": f"{name}_v2"}
        if self.kind == "truncated_json" and arguments is not None:
            text = arguments_json(arguments)
            return {**call, "arguments": text[: len(text) // 2]}
        if self.kind == "missing_argument" and isinstance(arguments, Mapping):
            return {**call, "arguments": {key: arguments[key] for key in sorted(arguments)[1:]}}
        return call
