"""An agent is not told of a tool that is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.descriptions import with_tools
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Missing:
    """A tool is missing from the list of tools; it would still work.

    Attributes:
        index: Which one, counted from 1; where there are fewer, nothing happens.
    """

    name: ClassVar[str] = "tools.missing"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.TOOLS})
    parameters: ClassVar[Mapping[str, Domain]] = {"index": Levels(1, 2, 3, 4, limits=(1, 1_000))}

    index: int = 1

    @property
    def magnitude(self) -> float:
        """One half: which tool it is says nothing of the strength."""
        return 0.5

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Leave the tool out."""
        response = await proceed(crossing.request)
        left_out = self.index - 1
        return response._replace(
            value=with_tools(response.value, lambda tools: [*tools[:left_out], *tools[left_out + 1 :]])
        )

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"tool number {self.index} is missing from the list"
