"""JSON from outside: what nests too deeply to cross a door is refused while it is parsed."""

from __future__ import annotations

import json
from typing import Any

from chaosagent.canonical import DEPTH_MAX

JSON_DEPTH_MAX = DEPTH_MAX - 4
"""Levels of lists and objects in JSON; a door puts an answer up to four levels deeper."""


class TooDeepError(ValueError):
    """JSON that nests deeper than `JSON_DEPTH_MAX` levels."""

    def __init__(self) -> None:
        super().__init__(f"it nests deeper than {JSON_DEPTH_MAX} levels. Send it flatter, or as a text")


def parse_json(text: str | bytes) -> Any:
    """Return the data that JSON describes.

    Raises:
        TooDeepError: It nests deeper than `JSON_DEPTH_MAX` levels; a `ValueError`, too.
        ValueError: It is not JSON, or holds a number of more digits than Python reads.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise TooDeepError from None
    check_depth(found)
    return found


def check_depth(value: Any) -> None:
    """Refuse data that nest too deeply.

    Args:
        value: Lists and mappings, as JSON has them.

    Raises:
        TooDeepError: They nest deeper than `JSON_DEPTH_MAX` levels.
    """
    level = [value]
    for _ in range(JSON_DEPTH_MAX + 1):
        level = [item for container in level for item in _items(container)]
        if not level:
            return
    raise TooDeepError


def _items(value: Any) -> Any:
    """Return what a list or an object holds, and nothing of anything else."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
