"""JSON from outside: what nests too deeply to cross a door, or has more items than a record, is refused."""

from __future__ import annotations

import json
from typing import Any

from chaosagent.canonical import DEPTH_MAX

JSON_DEPTH_MAX = DEPTH_MAX - 4
"""Levels of lists and objects in JSON; a door puts an answer up to four levels deeper."""

JSON_ITEMS_MAX = 450_000
"""Items of all lists and objects together, keys not counted. A record is read back with a limit of a million for each
request and answer, and there an item that is a list or an object counts twice."""


class UncrossableError(ValueError):
    """JSON that no door can take; the text says why, and what to do."""


class TooDeepError(UncrossableError):
    """JSON that nests deeper than `JSON_DEPTH_MAX` levels."""

    def __init__(self) -> None:
        super().__init__(f"it nests deeper than {JSON_DEPTH_MAX} levels. Send it flatter, or as a text")


class TooManyItemsError(UncrossableError):
    """JSON of more than `JSON_ITEMS_MAX` items."""

    def __init__(self) -> None:
        super().__init__(f"it has more than {JSON_ITEMS_MAX:,} items. Send less, or a text")


class LongNumberError(ValueError):
    """JSON with a number of more digits than Python reads; where any bytes may cross, it can cross as such."""

    def __init__(self) -> None:
        super().__init__("it has a number of thousands of digits. Send it as a text")


def parse_json(text: str | bytes) -> Any:
    """Return the data that JSON describes.

    Raises:
        UncrossableError: It nests deeper than `JSON_DEPTH_MAX` levels, or has more than `JSON_ITEMS_MAX` items.
        LongNumberError: It holds a number of more digits than Python reads.
        ValueError: It is not JSON.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise TooDeepError from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError as error:
        raise LongNumberError from error
    check_shape(found)
    return found


def check_shape(value: Any) -> None:
    """Refuse data that nest too deeply, or have too many items.

    Args:
        value: Lists and mappings, as JSON has them.

    Raises:
        UncrossableError: They nest deeper than `JSON_DEPTH_MAX` levels, or have more than `JSON_ITEMS_MAX` items.
    """
    level, count = [value], 0
    for _ in range(JSON_DEPTH_MAX + 1):
        count += len(level)
        if count > JSON_ITEMS_MAX:
            raise TooManyItemsError
        level = [item for container in level for item in _items(container)]
        if not level:
            return
    raise TooDeepError


def _items(value: Any) -> Any:
    """Return what a list or an object holds, and nothing of anything else."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
