"""Known patterns of failure, with a page for each, which lies beside the code in `patterns/`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

from chaosagent.canonical import Plain

FENCE = "```"


class Block(NamedTuple):
    """A part of a page.

    Attributes:
        kind: `"heading"`, `"code"` or `"text"`.
        lines: Of a text only one; its code stands in backticks.
    """

    kind: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A mistake that many agents make.

    Attributes:
        id: As `chaosagent list patterns` takes it; the name of its page.
    """

    id: str

    @property
    def name(self) -> str:
        """The heading of its page, as it stands within a sentence."""
        (heading,) = self.page[0].lines
        return heading[0].lower() + heading[1:]

    @property
    def fix(self) -> str:
        """What usually helps, in a sentence or two: the first text below the heading `Fix`."""
        place = self.page.index(Block("heading", ("Fix",)))
        return self.page[place + 1].lines[0]

    @property
    def command(self) -> str:
        """What shows its page."""
        return f"chaosagent list patterns {self.id}"

    @property
    def text(self) -> Sequence[str]:
        """Its page below the heading, in lines for a terminal."""
        lines: list[str] = []
        for block in self.page[1:]:
            lines += ["", *(f"    {line}" for line in block.lines)] if block.kind == "code" else ["", *block.lines]
        return lines[1:]

    @property
    def page(self) -> Sequence[Block]:
        """What happens, the usual fix with an example, and when the pattern is named."""
        return _page(self.id)

    def to_json(self) -> dict[str, Plain]:
        """Return it as plain data."""
        return {"id": self.id, "name": self.name, "fix": self.fix, "command": self.command}


RETRY_WITHOUT_KEY = Pattern("retry-without-key")
STALE_READ = Pattern("stale-read")
NO_COMPENSATION = Pattern("no-compensation")
EARLY_PROMISE = Pattern("early-promise")
INSTRUCTED_BY_DATA = Pattern("instructed-by-data")
UNBOUNDED_RETRY = Pattern("retry-without-limit")
WAIT_WITHOUT_LIMIT = Pattern("wait-without-limit")
FAILURE_NOT_HANDLED = Pattern("failed-call-not-handled")
BROKEN_ANSWER = Pattern("broken-answer")
PATTERNS = (
    RETRY_WITHOUT_KEY,
    STALE_READ,
    NO_COMPENSATION,
    EARLY_PROMISE,
    INSTRUCTED_BY_DATA,
    UNBOUNDED_RETRY,
    WAIT_WITHOUT_LIMIT,
    FAILURE_NOT_HANDLED,
    BROKEN_ANSWER,
)


@functools.cache
def _page(name: str) -> Sequence[Block]:
    text = resources.files("chaosagent.report.causes.patterns").joinpath(f"{name}.md").read_text("utf-8")
    return tuple(map(_block, text.strip().split("\n\n")))


def _block(text: str) -> Block:
    """Return a part of a page in Markdown, of which pages use headings, code between fences, and paragraphs."""
    if text.startswith("#"):
        return Block("heading", (text.lstrip("# "),))
    lines = text.split("\n")
    if lines[0].startswith(FENCE):
        return Block("code", tuple(lines[1:-1]))
    return Block("text", (" ".join(lines),))
