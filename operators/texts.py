"""Text that gets into a context: how its size is counted, and where more of it is put."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.canonical import Plain

TOKEN_CHARACTERS = 4
"""Characters per token. No tokeniser is asked: a cost must not depend on the model that is tested."""

DESCRIBED_MAX = 120
"""Characters of a text that a description quotes."""

TEXT_KEYS = ("text", "body", "content")
"""Keys under which an answer that is a mapping keeps its text; the first that is there counts."""


def token_count(text: str) -> int:
    """Return the tokens of a text, as costs count them: its characters by `TOKEN_CHARACTERS`, rounded up."""
    return -(-len(text) // TOKEN_CHARACTERS)


def shortened(text: str) -> str:
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
    if isinstance(value, str):
        return f"{added}\n\n{value}" if position == "start" else f"{value}\n\n{added}"
    if isinstance(value, Mapping):
        for key in TEXT_KEYS:
            text = value.get(key)
            if isinstance(text, str):
                return {**value, key: with_text(text, added, position)}
    return value
