"""A retriever finds nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.passages import with_passages
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Empty:
    """The answer has no passage, however many there were; what else it says stays."""

    name: ClassVar[str] = "retrieval.empty"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.RETRIEVAL})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    by_default: ClassVar[bool] = False

    @property
    def magnitude(self) -> float:
        """One: every passage is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Leave every passage out."""
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, lambda _: []))

    def describe(self) -> str:
        """Say in one line what it does."""
        return "no passage is found"
