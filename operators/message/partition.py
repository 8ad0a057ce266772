"""Some agents cannot reach the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Text
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Partition:
    """Messages between two groups of agents get lost; inside each group they arrive. Senders are not told.

    One injection acts on the messages at its hook, so a partition that lasts is written with `[*]`, or `[3..]` from the
    third message of each agent on. Operations other than `send` are untouched.

    Attributes:
        members: The agents of one group, separated by commas; all others are the other group. Empty for the sender
            alone, whom then nobody hears.
    """

    name: ClassVar[str] = "message.partition"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MESSAGE})
    parameters: ClassVar[Mapping[str, Domain]] = {"members": Text("", characters_max=500)}
    by_default: ClassVar[bool] = False

    members: str = ""

    @property
    def magnitude(self) -> float:
        """One: the whole message is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Lose what would pass from one group to the other."""
        request, sender = crossing.request, crossing.agent
        group = [name for name in map(str.strip, self.members.split(",")) if name] if self.members else [sender]
        if request.operation != "send" or (sender in group) == (request.arguments.get("to") in group):
            return await proceed(request)
        return Response()

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"messages between {ascii(self.members) if self.members else 'the sender'} and all others get lost"
