"""Text that gets into a context: how its size is counted, and where more of it is put."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chaosagent.canonical import Plain

TOKEN_CHARACTERS = 4
"""The declared tokeniser: characters per token. None of a model is asked: a cost must not depend on what is tested."""

DESCRIBED_MAX = 120
"""Characters of a text that a description quotes."""

TEXT_KEYS = ("text", "body", "content")
"""Keys under which an answer that is a mapping keeps its text; the first that is there counts."""


def token_count(text: str) -> int:
    """Return the tokens of a text, as costs count them: its characters by `TOKEN_CHARACTERS`, rounded up."""
    return -(-len(text) // TOKEN_CHARACTERS)


def shorten(text: str) -> str:
    """Return a text as descriptions quote it; what is cut is said."""
    cut = len(text) - DESCRIBED_MAX
    return text if cut <= 0 else f"{text[:DESCRIBED_MAX]} ... {cut} more characters"


def with_text(value: Plain, added: str, position: str) -> Plain:
    """Return a copy of an answer with a paragraph more.

    Args:
        value: A text, or a mapping with a text under one of `TEXT_KEYS`; anything else is returned as it is.
        added: The paragraph; with an empty one nothing happens.
        position: `start` or `end`.
    """
    if not added:
        return value
    return with_changed_text(value, lambda text: f"{added}\n\n{text}" if position == "start" else f"{text}\n\n{added}")


def with_changed_text(value: Plain, change: Callable[[str], str]) -> Plain:
    """Return a copy of an answer with its text changed.

    Args:
        value: A text, or a mapping with a text under one of `TEXT_KEYS`; anything else is returned as it is.
        change: Gets the text and returns another one.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        for key in TEXT_KEYS:
            text = value.get(key)
            if isinstance(text, str):
                return {**value, key: change(text)}
    return value
