"""One field of the answer of a service is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels, Phase, Text
from chaosagent.operators.fields import Field, Path, fields, is_number, with_values
from chaosagent.operators.words import Words
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class FieldCorruption:
    """One field has a wrong value; the answer keeps its shape.

    Attributes:
        kind: `zero` (a number becomes 0), `negated` (its sign, or a truth value, is turned), `garbled`
            (neighbouring letters of a text are exchanged), `swapped` (with the next field of the same type) or
            `null` (the value is lost).
        field: Glob pattern of the field's name or dotted path, such as `amount` or `order.items.*.price`.
        index: Which one of the fields that match and that the kind can change; 0 is the first, keys in sorted order.
    """

    name: ClassVar[str] = "service.field_corruption"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "kind": Words("garbled", "zero", "null", also=("negated", "swapped")),
        "field": Text("*", characters_max=100),
        "index": Levels(0, 1, limits=(0, 99)),
    }

    kind: str = "garbled"
    field: str = "*"
    index: int = 0

    @property
    def phase(self) -> Phase:
        """After: the call itself is untouched."""
        return Phase.AFTER

    @property
    def magnitude(self) -> float:
        """A quarter: one field, whichever it is."""
        return 0.25

    @property
    def tokens(self) -> int:
        """None: one value is changed, which the magnitude counts."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Change the field."""
        response = await proceed(crossing.request)
        matching = [field for field in fields(response.value) if field.matches(self.field)]
        found = _changes(self.kind, matching)
        if self.index >= len(found):
            return response
        return response._replace(value=with_values(response.value, found[self.index]))

    def describe(self) -> str:
        """Say in one line what it does."""
        which = f"field {self.index + 1}" if self.field == "*" else f"field {self.index + 1} of {self.field!r}"
        return f"{which} of the answer is {self.kind}"


def _changes(kind: str, matching: list[Field]) -> list[dict[Path, Plain]]:
    """Return every change of that kind that makes a difference."""
    if kind == "swapped":
        return [
            {one.path: other.value, other.path: one.value}
            for one, other in pairwise(matching)
            if type(one.value) is type(other.value) and one.value != other.value
        ]
    changed = ((field, _corrupted(kind, field.value)) for field in matching)
    return [{field.path: value} for field, value in changed if _differs(value, field.value)]


def _corrupted(kind: str, value: Plain) -> Plain:
    if kind == "null":
        return None
    if kind == "garbled" and isinstance(value, str):
        return garbled(value)
    if kind == "negated" and isinstance(value, bool):
        return not value
    if is_number(value):
        if kind == "negated":
            return -value
        if kind == "zero":
            return type(value)(0)
    return value


def _differs(one: Plain, other: Plain) -> bool:
    # Not a number differs from itself, and 0 from false; only the first must not count as a change.
    return type(one) is not type(other) or (one != other and one is not other)


def garbled(text: str) -> str:
    """Return a text of the same length with neighbouring letters exchanged, different unless it is empty."""
    exchanged = "".join(text[start : start + 2][::-1] for start in range(0, len(text), 2))
    return exchanged if exchanged != text else "\N{REPLACEMENT CHARACTER}" * len(text)
