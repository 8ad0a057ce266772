"""The evidence in passages is cut short."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.passages import Passage, with_passages


@dataclass(frozen=True, slots=True)
class Truncate(OperatorDefaults):
    """Every passage loses the end of its `text`, as by a limit on what goes into a context.

    Attributes:
        share: How much of each text is lost, at least one character.
    """

    name = "retrieval.truncate"
    monotone = "share"
    description = "the last {share:.0%} of every passage is missing"

    share: float = parameter(0.5, Levels(0.5, limits=(0.01, 1.0)))

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(
            value=with_passages(response.value, lambda passages: [self._cut(passage) for passage in passages])
        )

    def _cut(self, passage: Passage) -> Passage:
        text = passage.get("text")
        if not isinstance(text, str):
            return passage
        return {**passage, "text": text[: max(0, len(text) - max(1, int(self.share * len(text))))]}
