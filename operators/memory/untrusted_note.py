"""An attacker has written into the memory."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.payloads import CANARIES, CANARY, CHARACTERS_MAX, ENCODINGS, GOALS, payload
from chaosagent.operators.texts import token_count, with_text


@dataclass(frozen=True, slots=True)
class UntrustedNote(OperatorDefaults):
    """What is read holds a note of somebody who is not entitled to give instructions.

    A text ends with it; a list has it as its last item, a mapping at the end of its text. What is stored stays as it
    is. Operations other than `read`, and entries that are not there, are untouched.

    Attributes:
        goal: What the attacker wants: `override`, `tool_result`, `exfiltration` or `policy`.
        encoding: How it is written: `plain`, `html_comment`, `base64`, `zero_width` or `other_language`.
        canary: A word in it that a contract can look for, at most 32 characters.
    """

    name = "memory.untrusted_note"
    by_default = False
    description = "what is read holds a payload: {goal}, {encoding}"

    goal: str = parameter("override", GOALS)
    encoding: str = parameter("plain", ENCODINGS)
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
        if crossing.request.operation != "read":
            return response
        return response._replace(value=self._with_note(response.value))

    @property
    def _text(self) -> str:
        return payload(self.goal, self.encoding, self.canary)

    def _with_note(self, value: Plain) -> Plain:
        if isinstance(value, list | tuple):
            return [*value, self._text]
        return with_text(value, self._text, "end")
