"""Small changes to a text: where its sentences are, and replacements that stay within a number of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from chaosagent.faults.operator import Levels
from chaosagent.operators.lexicon import lexicon
from chaosagent.operators.texts import TOKEN_CHARACTERS

TOKENS_MAX = 500
"""The most tokens that one operator may change."""

EDITS_MAX = 1_000
"""Places of one text that are looked at; those behind are left alone."""

_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])[ \t]+(?=[^\Wa-z_])|\n\s*")
_MARKER = re.compile(r"(?:[-*•]|\d{1,3}[.)])[ \t]+")
_FIRST_WORDS = re.compile(r"(?:^|, )(?:then )?([A-Za-z]+)")
_INSTRUCTS = re.compile(
    r"\b(must|should|shall|need to|needs to|have to|has to|never|always|only|do not|don't|please|make sure|ensure|"
    r"at most|at least|no more than|unless)\b",
    re.IGNORECASE,
)


class Span(NamedTuple):
    """A part of a text, from `start` to before `stop`."""

    start: int
    stop: int

    def of(self, text: str) -> str:
        """Return the part."""
        return text[self.start : self.stop]


class Edit(NamedTuple):
    """A part of a text, and what stands there instead.

    Attributes:
        start: Where it begins.
        stop: Behind its last character; `start` to insert something.
        text: What stands there instead, empty to remove something.
    """

    start: int
    stop: int
    text: str

    @property
    def tokens(self) -> int:
        """How many tokens it changes: those of the longer one of old and new text."""
        return -(-max(self.stop - self.start, len(self.text)) // TOKEN_CHARACTERS)


def tokens_levels(*levels: int) -> Levels:
    """Return the domain of a parameter `tokens_max`."""
    return Levels(*levels, limits=(1, TOKENS_MAX))


def edited(text: str, edits: Iterable[Edit], tokens_max: int) -> str:
    """Return a text with as many changes as are allowed.

    Args:
        text: The text.
        edits: Changes, the most wanted first. One that changes nothing, overlaps with one made before, or would
            exceed the tokens left is not made.
        tokens_max: The most tokens that all changes together may have.
    """
    made: list[Edit] = []
    tokens_left = tokens_max
    for edit in edits:
        if edit.tokens > tokens_left or text[edit.start : edit.stop] == edit.text:
            continue
        if any(edit.start < other.stop and other.start < edit.stop for other in made):
            continue
        made.append(edit)
        tokens_left -= edit.tokens
        if not tokens_left:
            break
    for edit in sorted(made, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.stop :]
    return text


def sentences(text: str) -> list[Span]:
    """Return where sentences and lines stand, without the markers of list items; at most `EDITS_MAX`."""
    found: list[Span] = []
    start = 0
    for gap in [*_BETWEEN_SENTENCES.finditer(text), None]:
        if gap is not None and _MARKER.fullmatch(text, start, gap.end()):
            continue  # the full stop of a numbered item
        span = _without_frame(text, start, len(text) if gap is None else gap.start())
        if span.start < span.stop:
            found.append(span)
        if gap is None or len(found) == EDITS_MAX:
            break
        start = gap.end()
    return found


def instructions(text: str) -> list[Span]:
    """Return those sentences and lines that say what to do or what must hold, as far as their words show it."""
    return [span for span in sentences(text) if _instructs(span.of(text))]


def items(text: str) -> list[Span]:
    """Return where the items of lists stand, one line each, without their markers; at most `EDITS_MAX`."""
    found: list[Span] = []
    start = 0
    for line in text.split("\n"):
        span = _without_frame(text, start, start + len(line))
        if start < span.start < span.stop and _MARKER.search(text, start, span.start):
            found.append(span)
        if len(found) == EDITS_MAX:
            break
        start += len(line) + 1
    return found


def is_marker(text: str) -> bool:
    """Whether a text is blank, or the marker of a list item and blanks."""
    return not text.strip() or _MARKER.fullmatch(text.lstrip()) is not None


def _without_frame(text: str, start: int, stop: int) -> Span:
    """Return a part without the spaces around it and the marker of a list item before it."""
    while start < stop and text[stop - 1].isspace():
        stop -= 1
    while start < stop and text[start].isspace():
        start += 1
    marker = _MARKER.match(text, start, stop)
    return Span(start if marker is None else marker.end(), stop)


def _instructs(sentence: str) -> bool:
    if sentence.endswith("?"):
        return False
    first_words = (word.lower() for word in _FIRST_WORDS.findall(sentence))
    return _INSTRUCTS.search(sentence) is not None or any(word in lexicon().verbs for word in first_words)
