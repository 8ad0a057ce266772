"""A text says the same in other words."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.edits import TOKENS_MAX, edited, tokens_levels
from chaosagent.operators.texts import with_changed_text
from chaosagent.operators.wording import moved_clauses, phrases_in, synonyms_in


@dataclass(frozen=True, slots=True)
class Paraphrase(OperatorDefaults):
    """A text says the same in other words.

    Clauses change places ("If it is late, ask." becomes "Ask if it is late."), then phrases and then words are replaced
    by others that mean the same, each from left to right, as long as there are tokens left. Rules and a lexicon
    (`operators/lexicon.txt`) do it, no model, so that the same text always becomes the same.

    Attributes:
        tokens_max: The most tokens of the text that are changed.
    """

    name = "prompt.paraphrase"
    by_default = False
    description = "at most {tokens_max} tokens are said in other words"

    tokens_max: int = parameter(16, tokens_levels(16, 64))

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
        return response._replace(value=with_changed_text(response.value, self._paraphrased))

    def _paraphrased(self, text: str) -> str:
        edits = itertools.chain(moved_clauses(text), phrases_in(text), synonyms_in(text))
        return edited(text, edits, self.tokens_max)
