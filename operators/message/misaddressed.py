"""A message between agents has the wrong recipient or the wrong sender."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Request, Response
from chaosagent.faults.operator import Choice, Domain
from chaosagent.operators.fields import fields, with_values
from chaosagent.vocabulary import Boundary

_SENDERS = re.compile(r"(?i)from(_?agent)?|sender|author|on_?behalf_?of")


@dataclass(frozen=True, slots=True)
class Misaddressed:
    """A message goes to another agent, or says that another one sent it.

    The other agent is the last one to whom or from whom something was sent before, else the sender or the recipient of
    this message. Where none is known nothing happens. Operations other than `send` are untouched.

    Attributes:
        part: `sender` (fields like `from` and `sender` of the message name another agent; nothing happens where it has
            none) or `recipient` (it goes to another agent, and its recipient never gets it).
    """

    name: ClassVar[str] = "message.misaddressed"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MESSAGE})
    parameters: ClassVar[Mapping[str, Domain]] = {"part": Choice("sender", "recipient")}
    reads_history: ClassVar[bool] = True
    by_default: ClassVar[bool] = False

    part: str = "recipient"

    @property
    def magnitude(self) -> float:
        """Half for a wrong sender, one for a message that does not arrive."""
        return 0.5 if self.part == "sender" else 1.0

    @property
    def tokens(self) -> int:
        """None: names are changed, which the magnitude counts."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Write another name on it."""
        request = crossing.request
        if request.operation != "send":
            return await proceed(request)
        known = [*_named(crossing.history), crossing.agent, request.arguments.get("to")]
        names = [name for name in known if isinstance(name, str) and name]
        arguments = _with_sender(request, names) if self.part == "sender" else _with_recipient(request, names)
        return await proceed(request._replace(arguments=arguments))

    def describe(self) -> str:
        """Say in one line what it does."""
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
