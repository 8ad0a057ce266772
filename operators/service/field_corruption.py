"""One field of the answer of a service is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, Text, parameter
from chaosagent.operators.corruption import corruptions
from chaosagent.operators.fields import fields, with_values
from chaosagent.operators.words import Words


@dataclass(frozen=True, slots=True)
class FieldCorruption(OperatorDefaults):
    """One field has a wrong value; the answer keeps its shape.

    Attributes:
        kind: `zero` (a number becomes 0), `negated` (its sign, or a truth value, is turned), `garbled`
            (neighbouring letters of a text are exchanged), `swapped` (with the next field of the same type) or
            `null` (the value is lost).
        field: Glob pattern of the field's name or dotted path, such as `amount` or `order.items.*.price`.
        index: Which one of the fields that match and that the kind can change; 0 is the first, keys in sorted order.
    """

    name = "service.field_corruption"
    magnitude = 0.25  # one field, whichever it is

    kind: str = parameter("garbled", Words("garbled", "zero", "null", also=("negated", "swapped")))
    field: str = parameter("*", Text("*", characters_max=100))
    index: int = parameter(0, Levels(0, 1, limits=(0, 99)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        matching = [field for field in fields(response.value) if field.matches(self.field)]
        found = corruptions(self.kind, matching)
        if self.index >= len(found):
            return response
        return response._replace(value=with_values(response.value, found[self.index]))

    def describe(self) -> str:
        which = f"field {self.index + 1}" if self.field == "*" else f"field {self.index + 1} of {self.field!r}"
        return f"{which} of the answer is {self.kind}"
