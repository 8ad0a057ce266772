"""The end of a text is missing."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.edits import tokens_levels
from chaosagent.operators.texts import TOKEN_CHARACTERS, with_changed_text


@dataclass(frozen=True, slots=True)
class Truncation(OperatorDefaults):
    """The end of a text is missing.

    Attributes:
        share: How much of it is lost, at least one character.
        tokens_max: The most tokens that are lost, whatever the share.
    """

    name = "prompt.truncation"
    by_default = False
    description = "the last {share:.0%} of the text are missing, at most {tokens_max} tokens"

    share: float = parameter(0.25, Levels(0.25, 0.5, limits=(0.01, 1.0)))
    tokens_max: int = parameter(64, tokens_levels(64))

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    @property
    def tokens(self) -> int:
        """What may be lost."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._cut))

    def _cut(self, text: str) -> str:
        lost = min(max(1, int(self.share * len(text))), TOKEN_CHARACTERS * self.tokens_max)
        return text[: max(0, len(text) - lost)]
