"""A model claims to have done what it has not done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.answers import tool_calls, with_text_only

NAME_MAX = 100
"""Characters of a tool's name that the claim quotes."""


@dataclass(frozen=True, slots=True)
class ConfabulatedSuccess(OperatorDefaults):
    """The model claims a success: it says that what it was about to do is done, and calls no tool.

    An answer without tool calls becomes a general claim.
    """

    name = "model.confabulated_success"
    by_default = False
    description = "the model claims that all is done and calls no tool"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_text_only(response.value, _claim(response.value)))


def _claim(value: Plain) -> str:
    for call in tool_calls(value):
        name = call.get("name") if isinstance(call, Mapping) else None
        if isinstance(name, str) and name:
            return f"Done: {name[:NAME_MAX].replace('_', ' ')} was successful."
    return "Done: everything was successful."
