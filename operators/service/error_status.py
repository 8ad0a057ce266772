"""A service answers with an error status."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.withhold import MEANS, WHEN, withhold
from chaosagent.vocabulary import Failure

_PHRASES = {status.value: status.phrase for status in HTTPStatus}


@dataclass(frozen=True, slots=True)
class ErrorStatus(OperatorDefaults):
    """The service, or a proxy in front of it, answers with an error.

    Attributes:
        status: The code, 400 to 599. Searched are one that says nothing about the request (503), one that asks for
            patience (429) and one that denies (404), the likeliest first: a service that has acted rarely denies it.
        retry_after: Seconds after which it asks to be called again; 0 when it does not say.
        when: `before` the service acts, which then never does, or `after`, as a proxy does that loses its backend.
    """

    name = "service.error_status"

    status: int = parameter(503, Levels(503, 429, 404, limits=(400, 599)))
    retry_after: float = parameter(0.0, Levels(0.0, limits=(0.0, 86_400.0)))
    when: str = parameter("before", WHEN)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        phrase = _PHRASES.get(self.status, "Error")
        failure = Failure("status", phrase, self.status, self.retry_after if self.retry_after > 0.0 else None)
        return await withhold(crossing, proceed, self.when, failure)

    def describe(self) -> str:
        asks = f", retry after {self.retry_after:g} s" if self.retry_after > 0.0 else ""
        return f"answers {self.status} {_PHRASES.get(self.status, 'Error')}{asks}; {MEANS[self.when]}"
