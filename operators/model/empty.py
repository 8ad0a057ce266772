"""A model answers nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.answers import said_instead
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class Empty:
    """The model answers nothing at all: no content, and no tool call."""

    name: ClassVar[str] = "model.empty"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MODEL})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    by_default: ClassVar[bool] = False

    @property
    def magnitude(self) -> float:
        """One: the whole answer is missing."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: what a model writes is a fault here, which the magnitude counts."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Take the answer away."""
        response = await proceed(crossing.request)
        return response._replace(value=said_instead(response.value, ""))

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the model answers nothing and calls no tool"
