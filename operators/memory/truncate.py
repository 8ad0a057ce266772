"""A part of what is remembered is missing."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Levels, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class Truncate(OperatorDefaults):
    """The memory holds only so much: a list or a text that is read has lost a part. Anything else stays.

    What is stored stays as it is. Operations other than `read` are untouched.

    Attributes:
        lost: `oldest` (the beginning, as in a window that moves on) or `newest` (the end, as behind a limit).
        share: How much is lost, at least one item or character.
    """

    name = "memory.truncate"
    monotone = "share"
    by_default = False
    description = "the {lost} {share:.0%} of what is read is missing"

    lost: str = parameter("oldest", Choice("oldest", "newest"))
    share: float = parameter(0.5, Levels(0.5, limits=(0.01, 1.0)))

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=self._cut(response.value)) if crossing.request.operation == "read" else response

    def _cut(self, value: Plain) -> Plain:
        if not isinstance(value, str | list | tuple) or not value:
            return value
        lost = max(1, int(self.share * len(value)))
        return value[lost:] if self.lost == "oldest" else value[:-lost]
