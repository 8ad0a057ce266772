"""A text holds an attack."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.payloads import CANARIES, CANARY, CHARACTERS_MAX, ENCODINGS, GOALS, payload
from chaosagent.operators.texts import shorten, token_count, with_text
from chaosagent.operators.words import Words


@dataclass(frozen=True, slots=True)
class Payload(OperatorDefaults):
    """What an attacker wrote stands in a text that gets into a context, from the library of `operators/payloads.py`.

    Attributes:
        goal: What the attacker wants: `override`, `tool_result`, `exfiltration` or `policy`.
        encoding: How it is written: `plain`, `html_comment`, `base64`, `zero_width` or `other_language`.
        position: At the `end` of the text or at its `start`.
        canary: A word in it that a contract can look for.
    """

    name = "prompt.payload"
    by_default = False

    goal: str = parameter("override", GOALS)
    encoding: str = parameter("plain", ENCODINGS)
    position: str = parameter("end", Words("end", also=("start",)))
    canary: str = parameter(CANARY, CANARIES)

    @property
    def magnitude(self) -> float:
        """The share of the allowed length."""
        return len(self._text) / CHARACTERS_MAX

    @property
    def tokens(self) -> int:
        """Those of the payload."""
        return token_count(self._text)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_text(response.value, self._text, self.position))

    def describe(self) -> str:
        plain = payload(self.goal, canary=self.canary)
        return f"at the {self.position} of the text stands ({self.encoding}) {shorten(plain)!a}"

    @property
    def _text(self) -> str:
        return payload(self.goal, self.encoding, self.canary)
