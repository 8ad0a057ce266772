"""A message between agents arrives with a wrong field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.corruption import corruptions
from chaosagent.operators.fields import fields, with_values
from chaosagent.operators.words import Words
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Corrupted:
    """One field of what is handed over has a wrong value; the message keeps its shape and its recipient.

    What is handed over is the message's `body`. Operations other than `send` are untouched.

    Attributes:
        kind: `garbled` (neighbouring letters of a text are exchanged), `zero` (a number becomes 0), `null` (the value
            is lost), `negated` (a number's sign, or a truth value, is turned) or `swapped` (with the next field of the
            same type).
        index: Which one of the fields that the kind can change; 0 is the first, keys in sorted order.
    """

    name: ClassVar[str] = "message.corrupted"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MESSAGE})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "kind": Words("garbled", "zero", "null", also=("negated", "swapped")),
        "index": Levels(0, 1, limits=(0, 99)),
    }
    by_default: ClassVar[bool] = False

    kind: str = "garbled"
    index: int = 0

    @property
    def magnitude(self) -> float:
        """A quarter: one field, whichever it is."""
        return 0.25

    @property
    def tokens(self) -> int:
        """None: one value is changed, which the magnitude counts."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Send it with the wrong value."""
        request = crossing.request
        if request.operation != "send" or "body" not in request.arguments:
            return await proceed(request)
        body = request.arguments["body"]
        found = corruptions(self.kind, fields(body))
        if self.index >= len(found):
            return await proceed(request)
        changed = {**request.arguments, "body": with_values(body, found[self.index])}
        return await proceed(request._replace(arguments=changed))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"field {self.index + 1} of the message is {self.kind}"
