"""The ways to read a text in which something may be encoded: escapes of JSON, URLs and HTML, and base64."""

from __future__ import annotations

import functools
import html
import re
from binascii import a2b_base64
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

LEVELS_MAX = 3
"""How often a text is unescaped: JSON in JSON in JSON, or JSON in a URL in a page."""

ESCAPE_MAX = 12
"""Characters that an escape has at most, but for blanks at its end, which mean nothing."""

MEANINGS_MAX = 4_096
"""Escapes whose meaning is kept; a text of millions has few different ones."""

_HEX, _NEXT = "[0-9a-fA-F]", "%[89abAB][0-9a-fA-F]"
_PERCENT = rf"%(?:[0-7]{_HEX}|[cdCD]{_HEX}{_NEXT}|[eE]{_HEX}(?:{_NEXT}){{2}}|[fF]{_HEX}(?:{_NEXT}){{3}})"
# The group makes `split` return the escapes, too: faster than `sub` with a function.
_BACKSLASHES = re.compile(r"(\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\n[ \t]*|.)|\n\s+)")
_PERCENTS = re.compile(rf"({_PERCENT})")
_FORM = re.compile(rf"({_PERCENT}|\+)")
_ENTITIES = re.compile(r"(&(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_ANY = re.compile("|".join(kind.pattern for kind in (_BACKSLASHES, _PERCENTS, _ENTITIES)))
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_DIGIT = "[A-Za-z0-9+/_-]"
_LINES = rf"(?:(?:{_DIGIT}{{76}}|{_DIGIT}{{64}})\r?\n)+{_DIGIT}{{1,76}}={{0,2}}"
_BASE64 = re.compile(rf"(?={_DIGIT}{{16}})(?:{_LINES}|{_DIGIT}{{16,}}={{0,2}})")  # what is shorter is refused once
_DIGITS_ONLY = str.maketrans("-_", "+/", "\r\n=")


class Places(NamedTuple):
    """Where in the original each character of a reading begins and ends."""

    starts: list[int]
    ends: list[int]


class Reading:
    """What a text may mean.

    Args:
        text: What it means.

    Attributes:
        text: As given.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def places(self) -> Places:
        """Where it says so; computed anew each time, as few readings hold secrets."""
        return Places(list(range(len(self.text))), list(range(1, len(self.text) + 1)))


class _Unescaped(Reading):
    """A reading with its escapes of some kind resolved once."""

    def __init__(self, of: Reading, kind: re.Pattern[str]) -> None:
        parts = kind.split(of.text)
        parts[1::2] = [_meaning(escape[:ESCAPE_MAX]) for escape in parts[1::2]]
        super().__init__("".join(parts))
        self._of, self._kind = of, kind

    @property
    def places(self) -> Places:
        starts, ends = self._of.places
        found = Places([], [])
        position = 0
        for match in self._kind.finditer(self._of.text):
            begin, end = match.span()
            length = len(_meaning(match[0][:ESCAPE_MAX]))
            found.starts.extend(starts[position:begin] + [starts[begin]] * length)
            found.ends.extend(ends[position:begin] + [ends[end - 1]] * length)
            position = end
        found.starts.extend(starts[position:])
        found.ends.extend(ends[position:])
        return found


class _Decoded(Reading):
    """A text that stands in a reading in base64; each part of it is found as a whole."""

    def __init__(self, of: Reading, match: re.Match[str], text: str) -> None:
        super().__init__(text)
        self._of, self._span = of, match.span()

    @property
    def places(self) -> Places:
        (start, end), (starts, ends) = self._span, self._of.places
        return Places([starts[start]] * len(self.text), [ends[end - 1]] * len(self.text))


def readings(text: str) -> Iterator[Reading]:
    """Yield what a text may mean besides what it says; nothing for most texts.

    Secrets hold what looks like an escape, such as `%40`, so each kind of escapes is resolved by itself.
    """
    if not (_ANY.search(text) or _BASE64.search(text)):
        return
    whole = Reading(text)
    for reading in (whole, *_unescaped(whole)):
        if reading is not whole:
            yield reading
        for decoded in _decoded(reading):
            yield decoded
            yield from _unescaped(decoded)


def _unescaped(whole: Reading) -> Iterator[Reading]:
    known, level = {whole.text}, [whole]
    for _ in range(LEVELS_MAX):
        found = (_Unescaped(reading, kind) for reading in level for kind in _kinds_in(reading.text))
        level = list({one.text: one for one in found if one.text not in known}.values())
        known.update(reading.text for reading in level)
        yield from level


def _kinds_in(text: str) -> Iterator[re.Pattern[str]]:
    for kind in (_BACKSLASHES, _PERCENTS, _ENTITIES):
        if kind.search(text):
            yield kind
            if kind is _PERCENTS and "+" in text:  # forms write blanks so
                yield _FORM


@functools.lru_cache(MEANINGS_MAX)
def _meaning(text: str) -> str:
    match text[0]:
        case "%":
            return unquote(text, errors="replace")
        case "&":
            return html.unescape(text)
        case "+":
            return " "
        case "\n":  # before an indented line
            return "\n"
    if text[1] in "ux" and len(text) > 2:
        return chr(int(text[2:], 16))
    return "" if text[1] == "\n" else _CONTROLS.get(text[1], text[1])


def _decoded(reading: Reading) -> Iterator[Reading]:
    for match in _BASE64.finditer(reading.text):
        digits = match[0].translate(_DIGITS_ONLY)
        try:
            text = a2b_base64(digits[: len(digits) - (len(digits) % 4 == 1)] + "==").decode()
        except UnicodeDecodeError:
            continue
        yield _Decoded(reading, match, text)
