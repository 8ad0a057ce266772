"""A read misses the last write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class StaleRead:
    """A replica answers that has not seen the last write: `read(key)` returns the value before it.

    What that value was follows from the reads and writes that the memory remembers of its recent history; a value of
    which nothing is known counts as absent. Without a recent write nothing happens.
    """

    name: ClassVar[str] = "memory.stale_read"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MEMORY})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    reads_history: ClassVar[bool] = True

    @property
    def magnitude(self) -> float:
        """One half: a whole value is replaced, by one that was true."""
        return 0.5

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Answer with the older value."""
        response = await proceed(crossing.request)
        if crossing.request.operation != "read" or response.failure is not None:
            return response
        key = crossing.request.arguments.get("key")
        about_key = [exchange for exchange in crossing.history if exchange.request.arguments.get("key") == key]
        older = _before_last_write(about_key)
        return response if older is None else older

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the read misses the last write"


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
