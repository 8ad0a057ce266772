"""Checks of the settings that a study file gives to a searcher."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chaosagent.errors import UsageError


def whole(searcher: str, setting: str, value: object, least: int, most: int) -> int:
    """Return a whole number within limits, both inclusive.

    Raises:
        UsageError: It is none, or lies outside.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{searcher}({setting}={value!r}): {setting} must be a whole number from {least} to {most}.")
    return value


def number(searcher: str, setting: str, value: object, least: float, most: float) -> float:
    """Return a number within limits, both inclusive.

    Raises:
        UsageError: It is none, or lies outside.
    """
    within = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not within or not isinstance(value, int | float) or not least <= value <= most:
        raise UsageError(f"{searcher}({setting}={value!r}): {setting} must be a number from {least:g} to {most:g}.")
    return float(value)


def word(searcher: str, setting: str, value: object, allowed: Sequence[str]) -> str:
    """Return one of some words.

    Raises:
        UsageError: It is none of them.
    """
    if not isinstance(value, str) or value not in allowed:
        raise UsageError(f"{searcher}({setting}={value!r}): {setting} must be one of {', '.join(allowed)}.")
    return value
