"""What a service decides or does stays open."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.fields import Field, Path, fields, with_values

_STATES = re.compile(r"(?i:(.*_)?(status|state|decision|verdict|approval))|.*[a-z](Status|State|Decision)")
_PLACES = frozenset(
    {"address", "city", "country", "county", "postalcode", "postcode", "street", "town", "zip", "zipcode"}
)
_PLACE_CODE = re.compile(r"(?!OK)[A-Z]{2}")
_DECISIONS = re.compile(r"(?i)(is_?)?(approved|granted|accepted|confirmed|allowed)")
_ENDS = re.compile(r"(?i)(is_?)?(done|finished|complete|completed|ready|settled|delivered)")


@dataclass(frozen=True, slots=True)
class Pending(OperatorDefaults):
    """The answer says that the matter is pending: an approval, a payment, a job.

    Fields like `status` or `decision` say `pending`, those like `approved` nothing yet, those like `done` no. The
    `state` of an address stays: one beside a city or the like, one within an address, and a code like `CA`. The
    service itself has acted. Nothing happens where an answer has no such field. An approval that never comes is this
    one at every call, `[*]`.
    """

    name = "service.pending"
    by_default = False
    magnitude = 0.5  # one fact of the answer is withheld
    description = "the answer says that the matter is pending"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        found = fields(response.value)
        beside: dict[Path, set[str]] = {}
        for field in found:
            beside.setdefault(field.path[:-1], set()).add(_plainly(field.name))
        changes = {field.path: _open(field) for field in found if not _is_place(field, beside[field.path[:-1]])}
        return response._replace(value=with_values(response.value, changes))


def _is_place(field: Field, beside: Set[str]) -> bool:
    """Whether a field that is called a state is a part of an address; `beside` are the names around it, plainly."""
    name = _plainly(field.name)
    if not name.endswith("state"):
        return False
    if isinstance(field.value, str) and _PLACE_CODE.fullmatch(field.value):
        return True
    within = [_plainly(part) for part in field.path[:-1] if isinstance(part, str)]
    of_the_same = name.removesuffix("state")
    return any(part.endswith("address") for part in within) or any(of_the_same + place in beside for place in _PLACES)


def _plainly(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _open(field: Field) -> Plain:
    value = field.value
    if isinstance(value, str) and value and _STATES.fullmatch(field.name):
        if value.isupper():
            return "PENDING"
        return "Pending" if value[:1].isupper() else "pending"
    if isinstance(value, bool) and _DECISIONS.fullmatch(field.name):
        return None
    if value is True and _ENDS.fullmatch(field.name):
        return False
    return value
