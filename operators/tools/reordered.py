"""An agent gets its tools in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Domain
from chaosagent.operators.descriptions import Tool, with_tools
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Reordered:
    """The list of tools has another order; each tool is described as it is.

    Attributes:
        kind: `rotated` (the first tool comes last) or `reversed`.
    """

    name: ClassVar[str] = "tools.reordered"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.TOOLS})
    parameters: ClassVar[Mapping[str, Domain]] = {"kind": Choice("rotated", "reversed")}

    kind: str = "rotated"

    @property
    def magnitude(self) -> float:
        """A quarter when one tool moves, half when all do."""
        return 0.25 if self.kind == "rotated" else 0.5

    @property
    def tokens(self) -> int:
        """None: no text is added."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Give the tools another order."""
        response = await proceed(crossing.request)
        return response._replace(value=with_tools(response.value, self._ordered))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the list of tools is {self.kind}"

    def _ordered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return tools[::-1] if self.kind == "reversed" else [*tools[1:], tools[0]]
