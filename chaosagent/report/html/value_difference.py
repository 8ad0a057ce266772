"""Where two values differ: the first paths, with what stands there on each side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.report.printable import printable
from chaosagent.report.story import compact

VALUE_MAX = 80
AROUND = 24
PATHS_MAX = 3
DEPTH_MAX = 40
MISSING = "nothing"


class Difference(NamedTuple):
    """A path at which two values differ, and a short form of what is there on each side."""

    path: str
    here: str
    there: str


def differences_between(here: Plain, there: Plain, name: str) -> list[Difference]:
    """Return the first differences of two values; JSON in texts is looked into.

    Args:
        here: One value.
        there: The other.
        name: What paths begin with.
    """
    return list(islice(_differences(here, there, name, 0), PATHS_MAX))


def _differences(here: Plain, there: Plain, path: str, depth: int) -> Iterator[Difference]:
    if here == there and repr(here) == repr(there):  # as values, false equals 0
        return
    if isinstance(here, str) and isinstance(there, str) and depth < DEPTH_MAX:
        parsed = _parsed(here), _parsed(there)
        inside = () if None in parsed else list(islice(_differences(*parsed, path, depth + 1), PATHS_MAX))
        if inside:
            yield from inside
            return
    if depth < DEPTH_MAX and isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in sorted({*here, *there}):
            place = f"{path}.{key}"
            if key not in here or key not in there:
                yield Difference(place, _short(here, key), _short(there, key))
            else:
                yield from _differences(here[key], there[key], place, depth + 1)
        return
    if depth < DEPTH_MAX and isinstance(here, list | tuple) and isinstance(there, list | tuple):
        for number, (one, other) in enumerate(zip(here, there, strict=False)):
            yield from _differences(one, other, f"{path}[{number}]", depth + 1)
        if len(here) != len(there):
            yield Difference(f"{path}, items", str(len(here)), str(len(there)))
        return
    left, right = compact(here), compact(there)
    if left != right:
        yield Difference(path, *_cut_around(left, right))


def _parsed(text: str) -> Plain:
    """Return the object or list that a text holds as JSON; `None` for other texts."""
    if not text.startswith(("{", "[")):
        return None
    try:
        value: Plain = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _short(value: Mapping[str, Plain], key: str) -> str:
    return printable(compact(value[key]), characters_max=VALUE_MAX) if key in value else MISSING


def _cut_around(here: str, there: str) -> tuple[str, str]:
    """Cut two texts to what is around their first difference."""
    at = next(
        (place for place, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there))
    )
    begin = max(0, at - AROUND) if max(len(here), len(there)) > VALUE_MAX else 0
    cut = "... " if begin else ""
    left, right = (printable(f"{cut}{text[begin:]}", characters_max=VALUE_MAX) for text in (here, there))
    return left, right
