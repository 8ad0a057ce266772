"""A page of a list says the wrong thing about what follows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter
from chaosagent.operators.fields import Field, Path, fields, with_values

_NOT_A_LETTER = re.compile(r"[^a-z]")
_CURSOR = re.compile(
    r"(next|end|start(ing)?)?(after|cursor|page(token)?|offset)|next(token|link)?|(end|start(ing)?)token|"
    r"continuation(token)?"
)
_FLAG = re.compile(r"(has)?(more|next(page)?)|(is)?truncated")
_POSITIONS = frozenset(("page", "offset"))
"""Where this page is, which ends nothing."""


@dataclass(frozen=True, slots=True)
class PartialPage(OperatorDefaults):
    """The page is right, and what it says of the next one is not.

    Fields like `next_cursor`, `nextPageToken` or `has_more` count, unless they belong to an item of a list. A page that
    lacks items and keeps its cursor is what `service.partial_response` makes.

    Attributes:
        kind: `ended` (it says that nothing follows) or `looped` (the next page is the one that was asked for; not on
            a first page, which nothing was asked for).
    """

    name = "service.partial_page"
    by_default = False
    magnitude = 0.5  # what is on the page is right

    kind: str = parameter("ended", Choice("ended", "looped"))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        if not isinstance(response.value, Mapping):
            return response
        found = [field for field in fields(response.value) if not any(isinstance(part, int) for part in field.path)]
        changes = _ended(found) if self.kind == "ended" else _looped(found, crossing.request.arguments)
        return response._replace(value=with_values(response.value, changes))

    def describe(self) -> str:
        if self.kind == "ended":
            return "the page says that it is the last one"
        return "the page says that the next one is itself"


def _plain_name(name: str) -> str:
    return _NOT_A_LETTER.sub("", name.lower())


def _is_cursor(field: Field) -> bool:
    value = field.value
    is_place = (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))
    return is_place and _CURSOR.fullmatch(_plain_name(field.name)) is not None


def _ended(found: list[Field]) -> dict[Path, Plain]:
    changes: dict[Path, Plain] = {}
    for field in found:
        name = _plain_name(field.name)
        if _FLAG.fullmatch(name) and field.value is True:
            changes[field.path] = False
        elif _is_cursor(field) and name not in _POSITIONS:
            changes[field.path] = None
    return changes


def _looped(found: list[Field], arguments: Mapping[str, Plain]) -> dict[Path, Plain]:
    asked = [argument for argument in fields(arguments) if _is_cursor(argument)]
    return {
        field.path: argument.value
        for field in found
        for argument in asked
        if _is_cursor(field) and type(field.value) is type(argument.value)
    }
