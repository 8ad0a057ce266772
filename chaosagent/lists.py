"""Arguments that are lists: a text is a sequence, too, and would become a list of its letters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from chaosagent.errors import UsageError

T = TypeVar("T")


def list_of(given: Iterable[T], name: str, where: str) -> tuple[T, ...]:
    """Return the entries of an argument that must be a list.

    Args:
        given: The argument; never part of a message, as it may be a secret.
        name: Of the parameter.
        where: What the argument is of, as messages name it.

    Raises:
        UsageError: It is a text, or no list at all.
    """
    value: object = given  # callers may ignore the types
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        said = "one text" if isinstance(value, str | bytes) else f"of type {type(value).__name__}"
        raise UsageError(f"{where}: {name} is {said}; it must be a list. Write {name}=[...], even for a single one.")
    return tuple(given)
