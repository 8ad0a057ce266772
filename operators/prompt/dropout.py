"""An instruction is missing from a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels
from chaosagent.operators.edits import Edit, Span, edited, instructions, is_marker, tokens_levels
from chaosagent.operators.texts import with_changed_text
from chaosagent.vocabulary import Boundary

_LINE_BREAK = re.compile(r"\r?\n")


@dataclass(frozen=True, slots=True)
class Dropout:
    """An instruction is missing from a text: a whole sentence that says what to do or what must hold.

    Where it is all that a line says, the line goes with it, and the marker of a list item, too. A text that consists of
    it alone stays, and so does one with fewer instructions.

    Attributes:
        index: Which one of the instructions that are short enough, counted from 1.
        tokens_max: The most tokens that an instruction has; longer ones are not counted.
    """

    name: ClassVar[str] = "prompt.dropout"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.PROMPT})
    parameters: ClassVar[Mapping[str, Domain]] = {
        "index": Levels(1, 2, limits=(1, 1_000)),
        "tokens_max": tokens_levels(64),
    }
    by_default: ClassVar[bool] = False

    index: int = 1
    tokens_max: int = 64

    @property
    def magnitude(self) -> float:
        """One half: which instruction it is says nothing of the strength."""
        return 0.5

    @property
    def tokens(self) -> int:
        """Those of the longest instruction."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Leave the instruction out."""
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._without))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"instruction {self.index} is missing, of those with at most {self.tokens_max} tokens"

    def _without(self, text: str) -> str:
        removals = [_removal(text, span) for span in instructions(text)]
        removals = [removal for removal in removals if removal.tokens <= self.tokens_max]
        rest = edited(text, removals[self.index - 1 : self.index], self.tokens_max)
        return rest if rest.strip() else text


def _removal(text: str, span: Span) -> Edit:
    """Return what removes a sentence with the blanks behind it, or its line if nothing else stands there."""
    stop = len(text) - len(text[span.stop :].lstrip(" \t"))
    line_start = text.rfind("\n", 0, span.start) + 1
    line_break = _LINE_BREAK.match(text, stop)
    if not is_marker(text[line_start : span.start]) or (stop < len(text) and line_break is None):
        return Edit(span.start, stop, "")
    if line_break is not None:
        return Edit(line_start, line_break.end(), "")
    return Edit(len(text[:line_start].removesuffix("\n").removesuffix("\r")), stop, "")
