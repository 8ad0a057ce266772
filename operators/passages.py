"""The passages in the answer of a retriever."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from chaosagent.canonical import Plain

Passage: TypeAlias = Mapping[str, Plain]


def with_passages(value: Plain, change: Callable[[Sequence[Passage]], Sequence[Passage]]) -> Plain:
    """Return a copy of an answer with its passages changed.

    Args:
        value: A list of passages, best first, or a mapping that holds such a list; of several the one whose key
            sorts first. Anything else, and an empty list, is returned as it is.
        change: Gets the passages, at least one, and returns new ones; it must not change those it gets.
    """
    passages = _passages(value)
    if passages:
        return list(change(passages))
    if isinstance(value, Mapping):
        for key in sorted(value):
            passages = _passages(value[key])
            if passages:
                return {**value, key: list(change(passages))}
    return value


def _passages(value: Plain) -> list[Passage]:
    """Return a list's items if all of them are mappings, else nothing."""
    if not isinstance(value, list | tuple):
        return []
    passages = [item for item in value if isinstance(item, Mapping)]
    return passages if len(passages) == len(value) else []
