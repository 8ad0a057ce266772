"""Parts of a text stand in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter
from chaosagent.operators.edits import Edit, Span, edited, instructions, items, sentences, tokens_levels
from chaosagent.operators.texts import with_changed_text

_UNITS: Mapping[str, Callable[[str], list[Span]]] = {
    "items": items,
    "instructions": instructions,
    "sentences": sentences,
}


@dataclass(frozen=True, slots=True)
class Reorder(OperatorDefaults):
    """Parts of a text stand in another order; nothing is added and nothing is lost.

    Attributes:
        unit: What changes places: `items` of lists, `instructions` (sentences that say what to do or what must hold) or
            all `sentences`.
        kind: The first two are `swapped`, or as many of the first ones as are allowed are `reversed`.
        tokens_max: The most tokens that may change places.
    """

    name = "prompt.reorder"
    by_default = False

    unit: str = parameter("sentences", Choice(*_UNITS))
    kind: str = parameter("swapped", Choice("swapped", "reversed"))
    tokens_max: int = parameter(64, tokens_levels(64))

    @property
    def magnitude(self) -> float:
        """A quarter for two parts, half for all."""
        return 0.25 if self.kind == "swapped" else 0.5

    @property
    def tokens(self) -> int:
        """What may change places."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._reordered))

    def describe(self) -> str:
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
