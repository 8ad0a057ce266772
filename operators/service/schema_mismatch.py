"""The answer of a service has another shape than the agent expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.canonical import DEPTH_MAX, Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter
from chaosagent.operators.fields import depth_of, fields, is_number, with_values

_MAGNITUDES = {"typed": 0.25, "wrapped": 0.5, "renamed": 0.75}


@dataclass(frozen=True, slots=True)
class SchemaMismatch(OperatorDefaults):
    """The service speaks another version of its interface: the facts are right, their shape is not.

    Attributes:
        kind: `typed` (numbers come as text), `wrapped` (the answer lies in an envelope, `{"data": answer}`) or
            `renamed` (keys in the other spelling: `order_id` as `orderId`, `status` as `Status`).
    """

    name = "service.schema_mismatch"

    kind: str = parameter("typed", Choice("typed", "wrapped", "renamed"))

    @property
    def magnitude(self) -> float:
        """How many of the paths and types on which an agent relies are wrong."""
        return _MAGNITUDES[self.kind]

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        if response.failure is not None:
            return response
        return response._replace(value=self._reshaped(response.value))

    def describe(self) -> str:
        return {
            "typed": "numbers of the answer come as text",
            "wrapped": "the answer comes in an envelope",
            "renamed": "keys of the answer come in another spelling",
        }[self.kind]

    def _reshaped(self, value: Plain) -> Plain:
        if self.kind == "typed":
            numbers = [field for field in fields(value) if is_number(field.value)]
            return with_values(value, {field.path: str(field.value) for field in numbers})
        if self.kind == "renamed":
            return _renamed(value)
        # Nothing at the bottom of an answer may fall below the limit of what crosses a boundary.
        return value if depth_of(value) >= DEPTH_MAX - 1 else {"data": value}


def _renamed(value: Plain) -> Plain:
    if isinstance(value, Mapping):
        renamed: dict[str, Plain] = {}
        for key, item in value.items():
            other = _other_spelling(key)
            # A spelling that another key has already stays with that key: no field may get lost.
            renamed[key if other in value or other in renamed else other] = _renamed(item)
        return renamed
    if isinstance(value, list | tuple):
        return [_renamed(item) for item in value]
    return value


def _other_spelling(key: str) -> str:
    first, *others = [part for part in key.split("_") if part] or [key]
    if others:
        return first + "".join(part[:1].upper() + part[1:] for part in others)
    return key[:1].upper() + key[1:]
