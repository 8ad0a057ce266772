"""A read answers with somebody else's entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults


@dataclass(frozen=True, slots=True)
class CrossSessionLeak(OperatorDefaults):
    """Keys are mixed up, as by a cache that forgets whose session it serves: `read(key)` returns another key's entry.

    That is the last one, with another value, that was read or written through the interface in its recent history.
    Without one nothing happens. Operations other than `read` are untouched.
    """

    name = "memory.cross_session_leak"
    reads_history = True
    by_default = False
    description = "the read answers with another key's entry"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        if crossing.request.operation != "read" or response.failure is not None:
            return response
        key = crossing.request.arguments.get("key")
        others = (value for value in _entries_of_others(crossing.history, key) if value != response.value)
        return Response(next(others, response.value))


def _entries_of_others(history: Sequence[Exchange], key: Plain) -> list[Plain]:
    """Return values that other keys are known to have had, the last first."""
    found: list[Plain] = []
    for request, response in reversed(history):
        if request.arguments.get("key") == key or response.failure is not None:
            continue
        if request.operation == "read" and response.value is not None:
            found.append(response.value)
        elif request.operation == "write":
            found.append(request.arguments.get("value"))
    return found
