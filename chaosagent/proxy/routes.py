"""Operations of an HTTP service: `METHOD /path`, with the changing parts of a path as arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote

from chaosagent.errors import UsageError

_FORM = re.compile(r"(GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE) (/\S*)")
_PART = re.compile(r"\{([A-Za-z_]\w*)\}")
SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing, as HTTP has it (RFC 9110, 9.2.1)."""


class Match(NamedTuple):
    """What a request asks of a service.

    Attributes:
        operation: `METHOD /path`, with names in place of the parts that change.
        arguments: Those parts, by name.
    """

    operation: str
    arguments: Mapping[str, str]


class Routes:
    """The operations that are known of a service; a request that is none of them is an operation of its own.

    Args:
        operations: Such as `"GET /orders/{order}"`; one without a changing part goes before one with.

    Raises:
        UsageError: One of them is nothing of the sort.
    """

    def __init__(self, operations: Iterable[str]) -> None:
        listed = sorted(set(operations), key=lambda operation: (operation.count("{"), operation))
        self._patterns = {operation: _pattern(operation) for operation in listed}

    def match(self, method: str, path: str) -> Match:
        """Return what a request asks."""
        line = f"{method} {path}"
        for operation, pattern in self._patterns.items():
            found = pattern.fullmatch(line)
            if found is not None:
                return Match(operation, {name: unquote(value) for name, value in found.groupdict().items()})
        return Match(line, {})


def check_operation(operation: str) -> None:
    """Refuse what is no operation.

    Raises:
        UsageError: It is not of the form `METHOD /path`.
    """
    if _FORM.fullmatch(operation) is None:
        raise UsageError(
            f"{operation!r} is no operation of an HTTP service. Write it as `POST /refunds` or `GET /orders/{{order}}`."
        )


def fill_path(operation: str, arguments: Mapping[str, object]) -> str:
    """Return the path of an operation with its changing parts filled in."""
    path = operation.partition(" ")[2]
    return _PART.sub(lambda part: quote(str(arguments.get(part[1], "")), safe=""), path)


def names_in(operation: str) -> list[str]:
    """Return the names of the parts of an operation that change."""
    return _PART.findall(operation)


def _pattern(operation: str) -> re.Pattern[str]:
    check_operation(operation)
    parts = _PART.split(operation)
    return re.compile(
        "".join(f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    )
