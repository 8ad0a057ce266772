"""Passages come in the wrong order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.passages import Passage, with_passages
from chaosagent.operators.words import Words


@dataclass(frozen=True, slots=True)
class PerturbRanking(OperatorDefaults):
    """The right passages are found and ranked wrongly; scores stay with the ranks.

    Attributes:
        kind: `rotated` (the best passage comes last), `reversed`, `shuffled` (any order, by the seed of the run) or
            `rescored` (passages stay where they are, with the scores in reverse).
    """

    name = "retrieval.perturb_ranking"

    kind: str = parameter("rotated", Words("rotated", "reversed", also=("shuffled", "rescored")))

    @property
    def magnitude(self) -> float:
        """A quarter when one passage moves, half when all do."""
        return 0.25 if self.kind == "rotated" else 0.5

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, lambda found: self._ranked(found, crossing)))

    def describe(self) -> str:
        if self.kind == "rescored":
            return "the scores of the passages are reversed"
        return f"the ranking of the passages is {self.kind}"

    def _ranked(self, passages: Sequence[Passage], crossing: Crossing) -> list[Passage]:
        if self.kind == "rescored":
            return _scored(passages, passages[::-1])
        if self.kind == "shuffled":
            return _scored(crossing.rng.sample(passages, len(passages)), passages)
        return _scored(passages[::-1] if self.kind == "reversed" else [*passages[1:], passages[0]], passages)


def _scored(passages: Sequence[Passage], like: Sequence[Passage]) -> list[Passage]:
    """Return passages with the scores of others, where all have one."""
    if not all("score" in passage for passage in passages):
        return list(passages)
    return [{**passage, "score": other["score"]} for passage, other in zip(passages, like, strict=True)]
