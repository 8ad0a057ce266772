"""Words of a text are replaced by others."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.edits import TOKENS_MAX, edited, tokens_levels
from chaosagent.operators.texts import with_changed_text
from chaosagent.operators.wording import synonyms_in


@dataclass(frozen=True, slots=True)
class Synonym(OperatorDefaults):
    """Words of a text are replaced by others that mean the same, from left to right.

    Only words in the lexicon of the package (`operators/lexicon.txt`) are replaced, and only where the word before
    shows whether they are nouns or verbs; names, addresses and identifiers stay.

    Attributes:
        tokens_max: The most tokens of the text that are changed.
    """

    name = "prompt.synonym"
    by_default = False
    description = "words of at most {tokens_max} tokens are replaced by synonyms"

    tokens_max: int = parameter(4, tokens_levels(4, 16))

    @property
    def magnitude(self) -> float:
        """The share of the allowed tokens."""
        return self.tokens_max / TOKENS_MAX

    @property
    def tokens(self) -> int:
        """What may be changed."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(
            value=with_changed_text(response.value, lambda text: edited(text, synonyms_in(text), self.tokens_max))
        )
