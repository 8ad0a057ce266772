"""A read answers with somebody else's entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class CrossSessionLeak:
    """Keys are mixed up, as by a cache that forgets whose session it serves: `read(key)` returns another key's entry.

    That is the last one, with another value, that was read or written through the interface in its recent history.
    Without one nothing happens. Operations other than `read` are untouched.
    """

    name: ClassVar[str] = "memory.cross_session_leak"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MEMORY})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    reads_history: ClassVar[bool] = True
    by_default: ClassVar[bool] = False

    @property
    def magnitude(self) -> float:
        """One: a whole value is replaced, by one that belongs to somebody else."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Answer with the other entry."""
        response = await proceed(crossing.request)
        if crossing.request.operation != "read" or response.failure is not None:
            return response
        key = crossing.request.arguments.get("key")
        others = (value for value in _entries_of_others(crossing.history, key) if value != response.value)
        return Response(next(others, response.value))

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the read answers with another key's entry"


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
