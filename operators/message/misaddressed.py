"""A message between agents has the wrong recipient or the wrong sender."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Request, Response
from chaosagent.faults.operator import Choice, OperatorDefaults, parameter
from chaosagent.operators.fields import fields, with_values

_SENDERS = re.compile(r"(?i)from(_?agent)?|sender|author|on_?behalf_?of")


@dataclass(frozen=True, slots=True)
class Misaddressed(OperatorDefaults):
    """A message goes to another agent, or says that another one sent it.

    The other agent is the last one to whom or from whom something was sent before, else the sender or the recipient of
    this message. Where none is known nothing happens. Operations other than `send` are untouched.

    Attributes:
        part: `sender` (fields like `from` and `sender` of the message name another agent; nothing happens where it has
            none) or `recipient` (it goes to another agent, and its recipient never gets it).
    """

    name = "message.misaddressed"
    reads_history = True
    by_default = False

    part: str = parameter("recipient", Choice("sender", "recipient"))

    @property
    def magnitude(self) -> float:
        """Half for a wrong sender, one for a message that does not arrive."""
        return 0.5 if self.part == "sender" else 1.0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        request = crossing.request
        if request.operation != "send":
            return await proceed(request)
        known = [*_named(crossing.history), crossing.agent, request.arguments.get("to")]
        names = [name for name in known if isinstance(name, str) and name]
        arguments = _with_sender(request, names) if self.part == "sender" else _with_recipient(request, names)
        return await proceed(request._replace(arguments=arguments))

    def describe(self) -> str:
        return "the message names another sender" if self.part == "sender" else "the message goes to another agent"


def _named(history: Sequence[Exchange]) -> Iterator[Plain]:
    """Yield whom earlier messages name, the last message first."""
    for exchange in reversed(history):
        yield exchange.request.arguments.get("to")
        yield from (field.value for field in fields(exchange.request.arguments) if _SENDERS.fullmatch(field.name))


def _with_recipient(request: Request, names: Sequence[str]) -> Mapping[str, Plain]:
    other = next((name for name in names if name != request.arguments.get("to")), None)
    return request.arguments if other is None or "to" not in request.arguments else {**request.arguments, "to": other}


def _with_sender(request: Request, names: Sequence[str]) -> Mapping[str, Plain]:
    changed = {}
    for field in fields(request.arguments):
        other = next((name for name in names if name != field.value), None)
        if _SENDERS.fullmatch(field.name) and isinstance(field.value, str) and other is not None:
            changed[field.path] = other
    # Top-level keys stay what they are, so a mapping remains one.
    value = with_values(request.arguments, changed)
    return value if isinstance(value, Mapping) else request.arguments
