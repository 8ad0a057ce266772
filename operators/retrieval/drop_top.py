"""The best passages are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.passages import with_passages
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class DropTop:
    """A retriever does not find its best passages; the next ones move up.

    Attributes:
        count: How many are missing.
    """

    name: ClassVar[str] = "retrieval.drop_top"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.RETRIEVAL})
    parameters: ClassVar[Mapping[str, Domain]] = {"count": Levels(1, 3, limits=(1, 100))}
    monotone: ClassVar[str] = "count"

    count: int = 1

    @property
    def magnitude(self) -> float:
        """Half for one passage, towards one for many."""
        return self.count / (self.count + 1)

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Leave the best passages out."""
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, lambda passages: passages[self.count :]))

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the best passage is missing" if self.count == 1 else f"the best {self.count} passages are missing"
