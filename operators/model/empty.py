"""A model answers nothing."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.answers import with_text_only


@dataclass(frozen=True, slots=True)
class Empty(OperatorDefaults):
    """The model answers nothing at all: no content, and no tool call."""

    name = "model.empty"
    by_default = False
    description = "the model answers nothing and calls no tool"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_text_only(response.value, ""))
