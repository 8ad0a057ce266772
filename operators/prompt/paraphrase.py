"""A text says the same in other words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.edits import TOKENS_MAX, edited, tokens_levels
from chaosagent.operators.texts import with_changed_text
from chaosagent.operators.wording import moved_clauses, phrases_in, synonyms_in
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A text says the same in other words.

    Clauses change places ("If it is late, ask." becomes "Ask if it is late."), then phrases and then words are replaced
    by others that mean the same, each from left to right, as long as there are tokens left. Rules and a lexicon
    (`operators/lexicon.txt`) do it, no model, so that the same text always becomes the same.

    Attributes:
        tokens_max: The most tokens of the text that are changed.
    """

    name: ClassVar[str] = "prompt.paraphrase"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.PROMPT})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "tokens_max": tokens_levels(16, 64),
    }
    by_default: ClassVar[bool] = False

    tokens_max: int = 16

    @property
    def magnitude(self) -> float:
        """The share of the allowed tokens."""
        return self.tokens_max / TOKENS_MAX

    @property
    def tokens(self) -> int:
        """What may be changed."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Say it in other words."""
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._paraphrased))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"at most {self.tokens_max} tokens are said in other words"

    def _paraphrased(self, text: str) -> str:
        edits = itertools.chain(moved_clauses(text), phrases_in(text), synonyms_in(text))
        return edited(text, edits, self.tokens_max)
