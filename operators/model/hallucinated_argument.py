"""A model makes up an argument."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.canonical import DEPTH_MAX, Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Levels, OperatorDefaults, parameter
from chaosagent.operators.answers import ToolCall, with_first_call
from chaosagent.operators.fields import depth_of, fields, is_number, with_values

INVENTED = ("override", True)
"""Name and value of an invented argument: what a model makes up to get its way."""

_LAST_DIGIT = re.compile(r"[0-9](?=[^0-9]*\Z)")


@dataclass(frozen=True, slots=True)
class HallucinatedArgument(OperatorDefaults):
    """An argument of the first tool call is made up.

    Attributes:
        kind: `invented` (one that nobody asked for is added), or `altered`: a value with a digit in it, such as an
            identifier or an amount, has another last digit.
        index: Which one of the values with a digit, counted from 1, keys in sorted order; means nothing for `invented`.
    """

    name = "model.hallucinated_argument"
    by_default = False

    kind: str = parameter("altered", Choice("invented", "altered"))
    index: int = parameter(1, Levels(1, limits=(1, 1_000)))

    @property
    def magnitude(self) -> float:
        """A quarter for one argument more, half for a wrong one."""
        return 0.25 if self.kind == "invented" else 0.5

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_first_call(response.value, self._made_up))

    def describe(self) -> str:
        return (
            "the first tool call has an invented argument"
            if self.kind == "invented"
            else f"value {self.index} with a digit in the first tool call has another last digit"
        )

    def _made_up(self, call: ToolCall) -> ToolCall:
        arguments = call.get("arguments")
        if isinstance(arguments, Mapping):
            return {**call, "arguments": self._changed(arguments)}
        if not isinstance(arguments, str):
            return call
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            return call
        if not isinstance(parsed, dict) or depth_of(parsed) == DEPTH_MAX or self._changed(parsed) == parsed:
            return call
        return {**call, "arguments": json.dumps(self._changed(parsed), ensure_ascii=arguments.isascii())}

    def _changed(self, arguments: Mapping[str, Plain]) -> Mapping[str, Plain]:
        if self.kind == "invented":
            name, value = INVENTED
            return {**arguments, name: value}
        found = [field for field in fields(arguments) if _altered(field.value) != field.value]
        changes = {field.path: _altered(field.value) for field in found[self.index - 1 : self.index]}
        changed = with_values(arguments, changes)
        return changed if isinstance(changed, Mapping) else arguments


def _altered(value: Plain) -> Plain:
    """Return a value with another last digit; one without digits as it is."""
    if isinstance(value, str):
        return _LAST_DIGIT.sub(lambda digit: str((int(digit[0]) + 1) % 10), value, 1)
    if not is_number(value):
        return value
    if isinstance(value, int):
        step = 1 if abs(value) % 10 < 9 else -9
        return value + step if value >= 0 else value - step
    if not math.isfinite(value):
        return value
    digits, *exponent = repr(value).split("e")
    return float("e".join([str(_altered(digits)), *exponent]))
