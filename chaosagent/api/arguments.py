"""Checks of arguments that the functions of the Python API share; each error names the parameter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from chaosagent.canonical import Plain
from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.yaml_file import DEPTH_MAX, VALUES_MAX, quote_value

PLACE_MAX = 200
NUMBER_BITS_MAX = 4_096


def path_of(call: str, name: str, value: object) -> Path:
    """Return the path that an argument gives.

    Args:
        call: The function, as messages name it.
        name: Of the parameter.
        value: The argument.

    Raises:
        UsageError: It is no path, or no file can have it.
    """
    if not isinstance(value, str | Path) or not str(value):
        raise UsageError(f"{call}({name}={quote_value(value)}): {name} must be the path of a file or a folder.")
    try:
        os.stat(value)
    except (ValueError, OSError) as error:  # ValueError: a null byte or a lone surrogate
        if not isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
            why = error.strerror if isinstance(error, OSError) else "it has a character that paths cannot have"
            raise UsageError(f"{call}({name}={quote_value(str(value))}): {name} is no possible path: {why}.") from error
    return Path(value)


def name_of(call: str, name: str, value: object, known: Sequence[str]) -> str:
    """Return an argument that must be one of some names; raises `UnknownNameError` otherwise."""
    if not isinstance(value, str) or value not in known:
        given = value if isinstance(value, str) else quote_value(value)
        raise UnknownNameError(name, given, known, f"{call}({name}=...)")
    return value


def flag_of(call: str, name: str, value: object) -> bool:
    """Return an argument that must be `True` or `False`; raises `UsageError` otherwise."""
    if not isinstance(value, bool):
        raise UsageError(f"{call}({name}={quote_value(value)}): {name} must be True or False.")
    return value


def whole_of(call: str, name: str, value: object, most: int, *, least: int = 1) -> int:
    """Return an argument that must be a whole number from `least` to `most`; raises `UsageError` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(
            f"{call}({name}={quote_value(value)}): {name} must be a whole number from {least} to {most:,}."
        )
    return value


def plain_of(value: object, place: str) -> Plain:
    """Return lists for sequences and dictionaries for mappings, as a YAML file would have given them.

    Args:
        value: Anything; what else a study file must not have is left to the checks of study files.
        place: Where it stands, as messages name it: `"agent.py:7: search"`.

    Raises:
        UsageError: It has more levels or values than a study file may have, a key that is no text, or something inside
            that is no plain data.
    """
    return _Plain().of(value, place, 0)


class _Plain:
    """Counts the values that it copies."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, value: object, place: str, depth: int) -> Plain:
        self._count += 1
        if depth > DEPTH_MAX or self._count > VALUES_MAX:
            raise UsageError(
                f"{place[:PLACE_MAX]} has more than {DEPTH_MAX} levels or {VALUES_MAX:,} values. Make it smaller; a "
                "list or mapping must not contain itself."
            )
        if isinstance(value, Mapping):
            return {self._key(key, place): self.of(one, f"{place}.{key}", depth + 1) for key, one in value.items()}
        if isinstance(value, list | tuple | range):
            return [self.of(one, f"{place}[{index}]", depth + 1) for index, one in enumerate(value)]
        if isinstance(value, int) and value.bit_length() > NUMBER_BITS_MAX:
            raise UsageError(f"{place} is {quote_value(value)}: a number of more than {NUMBER_BITS_MAX} bits.")
        if depth and value is not None and not isinstance(value, bool | int | float | str):
            raise UsageError(
                f"{place} is {quote_value(value)}, no plain data. Give numbers, texts, lists and mappings."
            )
        return cast(Plain, value)

    def _key(self, key: object, place: str) -> str:
        if not isinstance(key, str):
            raise UsageError(f"{place} has the key {quote_value(key)}; every key must be a text.")
        return key
