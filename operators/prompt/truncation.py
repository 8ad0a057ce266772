"""The end of a text is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.edits import tokens_levels
from chaosagent.operators.texts import TOKEN_CHARACTERS, with_changed_text
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Truncation:
    """The end of a text is missing.

    Attributes:
        share: How much of it is lost, at least one character.
        tokens_max: The most tokens that are lost, whatever the share.
    """

    name: ClassVar[str] = "prompt.truncation"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.PROMPT})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "share": Levels(0.25, 0.5, limits=(0.01, 1.0)),
        "tokens_max": tokens_levels(64),
    }
    by_default: ClassVar[bool] = False

    share: float = 0.25
    tokens_max: int = 64

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    @property
    def tokens(self) -> int:
        """What may be lost."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Cut the text."""
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._cut))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the last {self.share:.0%} of the text are missing, at most {self.tokens_max} tokens"

    def _cut(self, text: str) -> str:
        lost = min(max(1, int(self.share * len(text))), TOKEN_CHARACTERS * self.tokens_max)
        return text[: max(0, len(text) - lost)]
