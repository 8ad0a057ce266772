"""Words of a text are replaced by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.edits import TOKENS_MAX, edited, tokens_levels
from chaosagent.operators.texts import with_changed_text
from chaosagent.operators.wording import synonyms_in
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Synonym:
    """Words of a text are replaced by others that mean the same, from left to right.

    Only words in the lexicon of the package (`operators/lexicon.txt`) are replaced, and only where the word before
    shows whether they are nouns or verbs; names, addresses and identifiers stay.

    Attributes:
        tokens_max: The most tokens of the text that are changed.
    """

    name: ClassVar[str] = "prompt.synonym"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.PROMPT})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "tokens_max": tokens_levels(4, 16),
    }
    by_default: ClassVar[bool] = False

    tokens_max: int = 4

    @property
    def magnitude(self) -> float:
        """The share of the allowed tokens."""
        return self.tokens_max / TOKENS_MAX

    @property
    def tokens(self) -> int:
        """What may be changed."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Replace the words."""
        response = await proceed(crossing.request)
        return response._replace(
            value=with_changed_text(response.value, lambda text: edited(text, synonyms_in(text), self.tokens_max))
        )

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"words of at most {self.tokens_max} tokens are replaced by synonyms"
