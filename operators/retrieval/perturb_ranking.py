"""Passages come in the wrong order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Domain, Phase
from chaosagent.operators.passages import Passage, with_passages
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class PerturbRanking:
    """The right passages are found and ranked wrongly; scores stay with the ranks.

    Attributes:
        kind: `rotated` (the best passage comes last) or `reversed`.
    """

    name: ClassVar[str] = "retrieval.perturb_ranking"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.RETRIEVAL})
    parameters: ClassVar[Mapping[str, Domain]] = {"kind": Choice("rotated", "reversed")}

    kind: str = "rotated"

    @property
    def phase(self) -> Phase:
        """After: the call itself is untouched."""
        return Phase.AFTER

    @property
    def magnitude(self) -> float:
        """A quarter when one passage moves, half when all do."""
        return 0.25 if self.kind == "rotated" else 0.5

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Give the passages another order."""
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, self._ranked))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the ranking of the passages is {self.kind}"

    def _ranked(self, passages: Sequence[Passage]) -> list[Passage]:
        ranked = passages[::-1] if self.kind == "reversed" else [*passages[1:], passages[0]]
        if not all("score" in passage for passage in passages):
            return list(ranked)
        return [{**passage, "score": at["score"]} for passage, at in zip(ranked, passages, strict=True)]
