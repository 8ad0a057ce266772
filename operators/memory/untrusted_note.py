"""An attacker has written into the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain
from chaosagent.operators.payloads import CANARIES, CANARY, CHARACTERS_MAX, ENCODINGS, GOALS, payload
from chaosagent.operators.texts import token_count, with_text
from chaosagent.vocabulary import Boundary


@dataclass(frozen=True, slots=True)
class UntrustedNote:
    """What is read holds a note of somebody who is not entitled to give instructions.

    A text ends with it; a list has it as its last item, a mapping at the end of its text. What is stored stays as it
    is. Operations other than `read`, and entries that are not there, are untouched.

    Attributes:
        goal: What the attacker wants: `override`, `tool_result`, `exfiltration` or `policy`.
        encoding: How it is written: `plain`, `html_comment`, `base64`, `zero_width` or `other_language`.
        canary: A word in it that a contract can look for, at most 32 characters.
    """

    name: ClassVar[str] = "memory.untrusted_note"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MEMORY})
    parameters: ClassVar[Mapping[str, Domain]] = {"goal": GOALS, "encoding": ENCODINGS, "canary": CANARIES}
    by_default: ClassVar[bool] = False

    goal: str = "override"
    encoding: str = "plain"
    canary: str = CANARY

    @property
    def magnitude(self) -> float:
        """The share of the allowed length."""
        return len(self._text) / CHARACTERS_MAX

    @property
    def tokens(self) -> int:
        """Those of the payload."""
        return token_count(self._text)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Add the note."""
        response = await proceed(crossing.request)
        if crossing.request.operation != "read":
            return response
        return response._replace(value=self._with_note(response.value))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"what is read holds a payload: {self.goal}, {self.encoding}"

    @property
    def _text(self) -> str:
        return payload(self.goal, self.encoding, self.canary)

    def _with_note(self, value: Plain) -> Plain:
        if isinstance(value, list | tuple):
            return [*value, self._text]
        return with_text(value, self._text, "end")
