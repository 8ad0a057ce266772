"""A message between agents arrives with a wrong field."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.corruption import corruptions
from chaosagent.operators.fields import fields, with_values
from chaosagent.operators.words import Words


@dataclass(frozen=True, slots=True)
class Corrupted(OperatorDefaults):
    """One field of what is handed over has a wrong value; the message keeps its shape and its recipient.

    What is handed over is the message's `body`. Operations other than `send` are untouched.

    Attributes:
        kind: `garbled` (neighbouring letters of a text are exchanged), `zero` (a number becomes 0), `null` (the value
            is lost), `negated` (a number's sign, or a truth value, is turned) or `swapped` (with the next field of the
            same type).
        index: Which one of the fields that the kind can change; 0 is the first, keys in sorted order.
    """

    name = "message.corrupted"
    by_default = False
    magnitude = 0.25  # one field, whichever it is

    kind: str = parameter("garbled", Words("garbled", "zero", "null", also=("negated", "swapped")))
    index: int = parameter(0, Levels(0, 1, limits=(0, 99)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
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
        return f"field {self.index + 1} of the message is {self.kind}"
