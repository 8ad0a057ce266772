"""A passage that contradicts the best one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter
from chaosagent.operators.passages import Passage, with_passages

_NUMBER = re.compile(r"\d{1,15}", re.ASCII)
_NOT = re.compile(r" not\b")
_STATEMENT = re.compile(r"\b(is|are|was|were|can|may|must|will|shall|should)\b")


@dataclass(frozen=True, slots=True)
class Distractor(OperatorDefaults):
    """Among the passages is a near-duplicate of the best one that says something else.

    Its first number is another one; in a text without numbers, the first statement is turned into its opposite.
    Where neither is possible nothing happens.

    Attributes:
        position: Where it stands: `last`, or `first`, before the best passage.
    """

    name = "retrieval.distractor"
    description = "a passage that contradicts the best one comes {position}"

    position: str = parameter("last", Choice("last", "first"))

    @property
    def magnitude(self) -> float:
        """A quarter behind the other passages, half before them."""
        return 0.25 if self.position == "last" else 0.5

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, self._with_distractor))

    def _with_distractor(self, passages: Sequence[Passage]) -> list[Passage]:
        best = passages[0]
        text = best.get("text")
        if not isinstance(text, str) or contradicted(text) == text:
            return list(passages)
        distractor = {**best, "text": contradicted(text)}
        identity = best.get("id")
        if isinstance(identity, str):
            distractor["id"] = f"{identity}-copy"
        return [distractor, *passages] if self.position == "first" else [*passages, distractor]


def contradicted(text: str) -> str:
    """Return a text that says something else and looks alike; the text itself when nothing in it can be turned."""
    if _NUMBER.search(text):
        return _NUMBER.sub(lambda found: str(2 * int(found[0]) + 1), text, 1)
    if _NOT.search(text):
        return _NOT.sub("", text, 1)
    return _STATEMENT.sub(lambda found: f"{found[0]} not", text, 1)
