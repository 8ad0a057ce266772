"""A read misses the last write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults


@dataclass(frozen=True, slots=True)
class StaleRead(OperatorDefaults):
    """A replica answers that has not seen the last write: `read(key)` returns the value before it.

    What that value was follows from the reads and writes that the memory remembers of its recent history; a value of
    which nothing is known counts as absent. Without a recent write nothing happens.
    """

    name = "memory.stale_read"
    reads_history = True
    magnitude = 0.5  # a whole value is replaced, by one that was true
    description = "the read misses the last write"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        if crossing.request.operation != "read" or response.failure is not None:
            return response
        key = crossing.request.arguments.get("key")
        about_key = [exchange for exchange in crossing.history if exchange.request.arguments.get("key") == key]
        older = _before_last_write(about_key)
        return response if older is None else older


def _before_last_write(exchanges: Iterable[Exchange]) -> Response | None:
    found: Response | None = None
    value: Plain = None
    for request, response in exchanges:
        if response.failure is not None:
            continue
        if request.operation == "read":
            value = response.value
        elif request.operation in ("write", "append"):
            found = Response(value)
            written = request.arguments.get("value")
            value = written if request.operation == "write" else _appended(value, written)
    return found


def _appended(value: Plain, item: Plain) -> Plain:
    return [*value, item] if isinstance(value, list | tuple) else [item]
