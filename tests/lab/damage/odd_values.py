"""Values that strangers write where others were meant, and putting one somewhere into plain data."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

BACKTRACKING = "(a+)+$"
DIGITS = "9" * 100_000
ODD: list[object] = [
    None,
    True,
    0,
    -1,
    2**62,
    10**400,
    2.5,
    float("nan"),
    float("inf"),
    1e308,
    "",
    "\ud800",
    "\x00",
    "\u202e",
    "1:59:59",
    "../" * 20,
    BACKTRACKING,
    "a" * 3_000 + "!",
    b"",
    b"\x93",
    [],
    [1],
    [[]] * 50,
    {},
    {"a": 1},
    {"contract": "no-leak", "patterns": [BACKTRACKING], "interfaces": ["*"]},
]


def with_odd_values(data: Any, rng: random.Random, odd: list[object]) -> tuple[Any, str]:
    """Return plain data in which one to three values are others, and where and which."""
    said: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        path, value = rng.choice(list(_paths(data))), rng.choice(odd)
        data = _put(data, path, value)
        said.append(f"{'.'.join(map(str, path)) or 'all'} = {value!r:.40}")
    return data, ", ".join(said)


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _paths(value[key], (*before, key))


def _put(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = _put(changed[path[0]], path[1:], new)
    return changed
