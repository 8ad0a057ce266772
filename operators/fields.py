"""The fields of plain data: paths to the leaves of an answer, and copies with some of them changed."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeGuard

from chaosagent.canonical import DEPTH_MAX, Plain

Path: TypeAlias = tuple[str | int, ...]

FIELDS_MAX = 1_000
"""Fields of one answer that are looked at; operators leave those behind alone."""

METADATA_NAMES: Mapping[str, re.Pattern[str]] = {
    "time": re.compile(r"(?i:.*_at|(.*_)?(time|timestamp|date)|date_.*|expires|modified|created|updated)|.*[a-z]At"),
    "version": re.compile(r"(?i:(.*_)?(version|revision)|rev|etag|seq|sequence|generation)"),
    "id": re.compile(r"(?i:id|uuid|.*_id)|.*[a-z]Id"),
}
"""Names of fields that say how fresh an answer is, or what it belongs to, by kind."""


class Field(NamedTuple):
    """One leaf of an answer.

    Attributes:
        path: Keys and positions that lead to it, outermost first.
        value: Neither a mapping nor a list.
    """

    path: Path
    value: Plain

    @property
    def name(self) -> str:
        """The innermost key, empty when no mapping is around it."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), "")

    def matches(self, pattern: str) -> bool:
        """Whether a glob pattern means its name or its dotted path."""
        dotted = ".".join(str(part) for part in self.path)
        return fnmatch.fnmatchcase(self.name, pattern) or fnmatch.fnmatchcase(dotted, pattern)


def fields(value: Plain) -> list[Field]:
    """Return the first `FIELDS_MAX` leaves, keys in sorted order and lists in theirs."""
    found: list[Field] = []
    for field in _walk(value, ()):
        found.append(field)
        if len(found) == FIELDS_MAX:
            break
    return found


def _walk(value: Plain, path: Path) -> Iterator[Field]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _walk(value[key], (*path, key))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _walk(item, (*path, position))
    else:
        yield Field(path, value)


def with_values(value: Plain, changes: Mapping[Path, Plain]) -> Plain:
    """Return a copy in which the leaves at some paths have other values; paths that do not exist are ignored."""

    def change(path: Path, leaf: Plain) -> Plain:
        return changes.get(path, leaf)

    return _copy(value, (), change) if changes else value


def _copy(value: Plain, path: Path, change: Callable[[Path, Plain], Plain]) -> Plain:
    if isinstance(value, Mapping):
        return {key: _copy(item, (*path, key), change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item, (*path, position), change) for position, item in enumerate(value)]
    return change(path, value)


def depth_of(value: Plain, limit: int = DEPTH_MAX) -> int:
    """Return how many mappings and lists lie around the innermost value, at most `limit`."""
    if limit <= 0:
        return 0
    if isinstance(value, Mapping):
        return 1 + max((depth_of(item, limit - 1) for item in value.values()), default=0)
    if isinstance(value, list | tuple):
        return 1 + max((depth_of(item, limit - 1) for item in value), default=0)
    return 0


def is_number(value: Plain) -> TypeGuard[int | float]:
    """Whether a value is a number; truth values are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
