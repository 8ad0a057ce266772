"""A model claims to have done what it has not done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.answers import said_instead, tool_calls
from chaosagent.vocabulary import Boundary

NAME_MAX = 100
"""Characters of a tool's name that the claim quotes."""


@dataclass(frozen=True, slots=True)
class ConfabulatedSuccess:
    """The model claims a success: it says that what it was about to do is done, and calls no tool.

    An answer without tool calls becomes a general claim.
    """

    name: ClassVar[str] = "model.confabulated_success"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MODEL})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    by_default: ClassVar[bool] = False

    @property
    def magnitude(self) -> float:
        """One: the whole answer is replaced."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: what a model writes is a fault here, which the magnitude counts."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Claim it."""
        response = await proceed(crossing.request)
        return response._replace(value=said_instead(response.value, _claim(response.value)))

    def describe(self) -> str:
        """Say in one line what it does."""
        return "the model claims that all is done and calls no tool"


def _claim(value: Plain) -> str:
    for call in tool_calls(value):
        name = call.get("name") if isinstance(call, Mapping) else None
        if isinstance(name, str) and name:
            return f"Done: {name[:NAME_MAX].replace('_', ' ')} was successful."
    return "Done: everything was successful."
