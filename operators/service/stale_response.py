"""A service answers what was true before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class StaleResponse:
    """The answer comes from a cache.

    That is what the interface declares as stale, or what it answered to the same request before. Without such an
    answer nothing happens. The service itself has acted all the same.
    """

    name: ClassVar[str] = "service.stale_response"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    reads_history: ClassVar[bool] = True

    @property
    def magnitude(self) -> float:
        """One half: a whole answer is replaced, by one that was true."""
        return 0.5

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Answer with what a cache would hold."""
        response = await proceed(crossing.request)
        earlier = crossing.earlier()
        return response if earlier is None else earlier

    def describe(self) -> str:
        """Say in one line what it does."""
        return "answers from a stale cache"
