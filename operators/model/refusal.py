"""A model refuses."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.answers import with_text_only

REFUSAL = "I'm sorry, but I can't help with that."


@dataclass(frozen=True, slots=True)
class Refusal(OperatorDefaults):
    """The model refuses what it was asked: its answer is a refusal, and it calls no tool."""

    name = "model.refusal"
    description = "the model refuses and calls no tool"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_text_only(response.value, REFUSAL))
