"""An irrelevant sentence stands in a text."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, Text, parameter
from chaosagent.operators.texts import shorten, token_count, with_text
from chaosagent.operators.words import Words

CHARACTERS_MAX = 500

REMARKS = (
    "By the way, our office is closed next Monday.",
    "In another matter, ticket 4711 about order 1009 for 250.00 was closed last week.",
)
"""What is searched: a remark about nothing, and one with names and numbers that could be mistaken."""


@dataclass(frozen=True, slots=True)
class Distractor(OperatorDefaults):
    """A true and irrelevant remark stands in a text that gets into a context.

    Attributes:
        text: The remark, at most 500 characters.
        position: At the `end` of the text or at its `start`.
    """

    name = "prompt.distractor"

    text: str = parameter(REMARKS[0], Text(*REMARKS, characters_max=CHARACTERS_MAX))
    position: str = parameter("end", Words("end", also=("start",)))

    @property
    def magnitude(self) -> float:
        """The share of the allowed length."""
        return max(1, len(self.text)) / CHARACTERS_MAX

    @property
    def tokens(self) -> int:
        """Those of the text."""
        return token_count(self.text)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_text(response.value, self.text, self.position))

    def describe(self) -> str:
        return f"at the {self.position} of the text stands {shorten(self.text)!a}"
