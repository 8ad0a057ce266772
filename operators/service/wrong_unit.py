"""Quantities in the answer of a service are in another unit."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Levels, OperatorDefaults, Text, parameter
from chaosagent.operators.fields import METADATA_NAMES, Field, fields, is_number, with_values

_LARGEST = 1e300
"""Beyond it there is no hundredfold."""


@dataclass(frozen=True, slots=True)
class WrongUnit(OperatorDefaults):
    """A service answers in another unit than the agent takes it for, and nothing says so.

    All numbers of one name are changed alike; numbers that are ids or versions are no quantities. Times in another zone
    are what `service.metadata_change(kind=zone)` makes.

    Attributes:
        kind: `hundredfold` (cents for euros) or `thousandth` (kilograms for grams, seconds for milliseconds).
        field: Glob pattern of the field's name or dotted path, such as `amount` or `items.*.weight`.
        index: Which of the names that match, in sorted order; 0 is the first.
    """

    name = "service.wrong_unit"
    by_default = False
    magnitude = 0.5  # every value of a name

    kind: str = parameter("hundredfold", Choice("hundredfold", "thousandth"))
    field: str = parameter("*", Text("*", characters_max=100))
    index: int = parameter(0, Levels(0, 1, limits=(0, 99)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        quantities = [field for field in fields(response.value) if field.matches(self.field) and _is_quantity(field)]
        names = sorted({field.name for field in quantities})
        if self.index >= len(names):
            return response
        changes = {field.path: self._converted(field.value) for field in quantities if field.name == names[self.index]}
        return response._replace(value=with_values(response.value, changes))

    def describe(self) -> str:
        which = f"quantity {self.index + 1}" if self.field == "*" else f"quantity {self.index + 1} of {self.field!r}"
        how = "100 times too large" if self.kind == "hundredfold" else "1000 times too small"
        return f"{which} of the answer is {how}"

    def _converted(self, value: Plain) -> Plain:
        if not is_number(value):
            return value
        if self.kind == "hundredfold":
            return value * 100
        if isinstance(value, int):
            return value // 1000 if value % 1000 == 0 else float(value) / 1000
        return value / 1000


def _is_quantity(field: Field) -> bool:
    value = field.value
    if not is_number(value) or not 0 < abs(value) < _LARGEST:
        return False
    return not any(METADATA_NAMES[kind].fullmatch(field.name) for kind in ("id", "version"))
