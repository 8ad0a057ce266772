"""A write is applied late."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Levels, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class LateWrite(OperatorDefaults):
    """A write takes effect only after a while; whoever reads meanwhile reads what was there before.

    Two agents that read, think and write so come to write over each other: the later write is the one that was made
    first. Operations other than `write` and `append` are untouched.

    Attributes:
        told: `early` (the writer goes on at once, and may itself not see what it wrote: visibility is delayed; a run
            that ends before never has the write) or `late` (it waits until the write is applied, while others go on).
        seconds: Virtual seconds until the write is applied.
    """

    name = "memory.late_write"
    by_default = False

    told: str = parameter("late", Choice("late", "early"))
    seconds: float = parameter(5.0, Levels(5.0, 60.0, limits=(0.001, 86_400.0)))

    @property
    def magnitude(self) -> float:
        """Half at a minute, one in the limit."""
        return self.seconds / (self.seconds + 60.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        if crossing.request.operation not in ("write", "append"):
            return await proceed(crossing.request)
        if self.told == "early":
            crossing.defer(self.seconds, proceed, crossing.request)
            return Response()
        await crossing.sleep(self.seconds)
        return await proceed(crossing.request)

    def describe(self) -> str:
        who = "the writer goes on at once" if self.told == "early" else "the writer waits"
        return f"the write is applied {self.seconds:g} s late; {who}"
