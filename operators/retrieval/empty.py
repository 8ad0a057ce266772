"""A retriever finds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.passages import with_passages


@dataclass(frozen=True, slots=True)
class Empty(OperatorDefaults):
    """The answer has no passage, however many there were; what else it says stays."""

    name = "retrieval.empty"
    by_default = False
    description = "no passage is found"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, lambda _: []))
