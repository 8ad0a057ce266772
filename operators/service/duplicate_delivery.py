"""A request reaches a service twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Domain
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class DuplicateDelivery:
    """A queue or a proxy delivers the request again after the first answer; the agent asked once and sees one answer.

    Attributes:
        which: The answer that the agent sees, `first` or `last`.
    """

    name: ClassVar[str] = "service.duplicate_delivery"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {"which": Choice("first", "last")}

    which: str = "first"

    @property
    def magnitude(self) -> float:
        """One half: the world acts twice, the answer is a true one."""
        return 0.5

    @property
    def tokens(self) -> int:
        """None: no text is changed."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Deliver twice, one after the other."""
        first = await proceed(crossing.request)
        last = await proceed(crossing.request)
        return first if self.which == "first" else last

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the request is delivered twice; the agent sees the {self.which} answer"
