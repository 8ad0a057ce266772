"""The evidence in passages is cut short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.passages import Passage, with_passages
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Truncate:
    """Every passage loses the end of its `text`, as by a limit on what goes into a context.

    Attributes:
        share: How much of each text is lost, at least one character.
    """

    name: ClassVar[str] = "retrieval.truncate"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.RETRIEVAL})
    parameters: ClassVar[Mapping[str, Domain]] = {"share": Levels(0.5, limits=(0.01, 1.0))}
    monotone: ClassVar[str] = "share"

    share: float = 0.5

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    @property
    def tokens(self) -> int:
        """None: no text is added, and what is lost is counted by the magnitude."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Cut the texts."""
        response = await proceed(crossing.request)
        return response._replace(
            value=with_passages(response.value, lambda passages: [self._cut(passage) for passage in passages])
        )

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the last {self.share:.0%} of every passage is missing"

    def _cut(self, passage: Passage) -> Passage:
        text = passage.get("text")
        if not isinstance(text, str):
            return passage
        return {**passage, "text": text[: max(0, len(text) - max(1, int(self.share * len(text))))]}
