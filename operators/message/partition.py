"""Some agents cannot reach the others."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, Text, parameter


@dataclass(frozen=True, slots=True)
class Partition(OperatorDefaults):
    """Messages between two groups of agents get lost; inside each group they arrive. Senders are not told.

    One injection acts on the messages at its hook, so a partition that lasts is written with `[*]`, or `[3..]` from the
    third message of each agent on. Operations other than `send` are untouched.

    Attributes:
        members: The agents of one group, separated by commas; all others are the other group. Empty for the sender
            alone, whom then nobody hears.
    """

    name = "message.partition"
    by_default = False

    members: str = parameter("", Text("", characters_max=500))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        request, sender = crossing.request, crossing.agent
        group = [name for name in map(str.strip, self.members.split(",")) if name] if self.members else [sender]
        if request.operation != "send" or (sender in group) == (request.arguments.get("to") in group):
            return await proceed(request)
        return Response()

    def describe(self) -> str:
        return f"messages between {ascii(self.members) if self.members else 'the sender'} and all others get lost"
