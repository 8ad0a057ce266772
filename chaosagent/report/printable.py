"""Text of unknown origin made fit for a terminal, a log and a CI console."""

from __future__ import annotations

import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_WIDE = frozenset({"W", "F"})
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str, *, characters_max: int | None = None, in_the_middle: bool = False) -> str:
    r"""Return a text that can do nothing to a terminal but be read.

    Control characters (so escape sequences, too), characters that turn the direction of writing, invisible ones, line
    and paragraph separators, lone surrogates and code points without a character are written as escapes like `\x1b`
    and `\u202e`. The result is one line.

    Args:
        text: Of whatever origin.
        characters_max: Longer results are cut, and what was cut is said; `None` for no limit.
        in_the_middle: Cut there, so that beginning and end are seen, and not at the end.
    """
    shown = text if text.isascii() and text.isprintable() else "".join(map(_escaped, text))
    if characters_max is None or len(shown) <= characters_max:
        return shown
    left_out = f"... {len(shown) - characters_max} more characters"
    if not in_the_middle:
        return f"{shown[:characters_max]}{left_out}"
    end = characters_max // 2
    return f"{shown[: characters_max - end]}{left_out} ...{shown[len(shown) - end :]}"


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def width_of(text: str) -> int:
    """Return how many columns a printable text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
