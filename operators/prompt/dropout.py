"""An instruction is missing from a text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.edits import Edit, Span, edited, instructions, is_marker, tokens_levels
from chaosagent.operators.texts import with_changed_text

_LINE_BREAK = re.compile(r"\r?\n")


@dataclass(frozen=True, slots=True)
class Dropout(OperatorDefaults):
    """An instruction is missing from a text: a whole sentence that says what to do or what must hold.

    Where it is all that a line says, the line goes with it, and the marker of a list item, too. A text that consists of
    it alone stays, and so does one with fewer instructions.

    Attributes:
        index: Which one of the instructions that are short enough, counted from 1.
        tokens_max: The most tokens that an instruction has; longer ones are not counted.
    """

    name = "prompt.dropout"
    by_default = False
    magnitude = 0.5  # which instruction it is says nothing of the strength
    description = "instruction {index} is missing, of those with at most {tokens_max} tokens"

    index: int = parameter(1, Levels(1, 2, limits=(1, 1_000)))
    tokens_max: int = parameter(64, tokens_levels(64))

    @property
    def tokens(self) -> int:
        """Those of the longest instruction."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._without))

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
