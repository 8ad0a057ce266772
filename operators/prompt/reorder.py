"""Parts of a text stand in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Domain
from chaosagent.operators.edits import Edit, Span, edited, instructions, items, sentences, tokens_levels
from chaosagent.operators.texts import with_changed_text
from chaosagent.vocabulary import Boundary

_UNITS: Mapping[str, Callable[[str], list[Span]]] = {
    "items": items,
    "instructions": instructions,
    "sentences": sentences,
}


@dataclass(frozen=True, slots=True)
class Reorder:
    """Parts of a text stand in another order; nothing is added and nothing is lost.

    Attributes:
        unit: What changes places: `items` of lists, `instructions` (sentences that say what to do or what must hold) or
            all `sentences`.
        kind: The first two are `swapped`, or as many of the first ones as are allowed are `reversed`.
        tokens_max: The most tokens that may change places.
    """

    name: ClassVar[str] = "prompt.reorder"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.PROMPT})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "unit": Choice(*_UNITS),
        "kind": Choice("swapped", "reversed"),
        "tokens_max": tokens_levels(64),
    }
    by_default: ClassVar[bool] = False

    unit: str = "sentences"
    kind: str = "swapped"
    tokens_max: int = 64

    @property
    def magnitude(self) -> float:
        """A quarter for two parts, half for all."""
        return 0.25 if self.kind == "swapped" else 0.5

    @property
    def tokens(self) -> int:
        """What may change places."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Let them change places."""
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._reordered))

    def describe(self) -> str:
        """Say in one line what it does."""
        which = "the first two" if self.kind == "swapped" else "the first"
        return f"{which} {self.unit} are {self.kind}, at most {self.tokens_max} tokens"

    def _reordered(self, text: str) -> str:
        spans = _UNITS[self.unit](text)
        for count in range(2 if self.kind == "swapped" else len(spans), 1, -1):
            places = spans[:count]
            edits = [Edit(*place, other.of(text)) for place, other in zip(places, reversed(places), strict=True)]
            if sum(edit.tokens for edit in edits) <= self.tokens_max:
                return edited(text, edits, self.tokens_max)
        return text
