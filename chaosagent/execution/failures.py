"""Exceptions as data and back: what a failure is in a trace, and what the agent sees raised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from chaosagent.vocabulary import ActionBlocked, Failure, ServiceFault, StatusError

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_KNOWN: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        ArithmeticError, AttributeError, FileNotFoundError, IndexError, KeyError, LookupError, NotImplementedError,
        OSError, PermissionError, RuntimeError, TypeError, ValueError, ZeroDivisionError, ServiceFault,
    )
}  # fmt: skip
MESSAGE_MAX = 2_000


def failure_of(error: BaseException) -> Failure:
    """Return what an exception of the world is in a trace."""
    if isinstance(error, TimeoutError):
        return Failure("timeout", message_of(error))
    if isinstance(error, ConnectionError):
        return Failure("connection", message_of(error))
    if isinstance(error, StatusError):
        status, message, after = cast("tuple[object, object, object]", (error.status, error.message, error.retry_after))
        return Failure(
            "status",
            message if type(message) is str else message_of(error),
            status if isinstance(status, int) else 500,
            after if isinstance(after, int | float) else None,
        )
    if isinstance(error, ActionBlocked):
        return Failure("blocked", message_of(error))
    return Failure(type(error).__name__, message_of(error))


def exception_of(failure: Failure, known: Mapping[str, type[Exception]]) -> Exception:
    """Return what the agent sees raised.

    Args:
        failure: As an operator or a replay record has it.
        known: Exception classes that the door declares, by name.
    """
    if failure.kind == "timeout":
        return TimeoutError(failure.message)
    if failure.kind == "connection":
        return ConnectionError(failure.message)
    if failure.kind == "status":
        return StatusError(failure.status or 500, failure.message, failure.retry_after)
    if failure.kind == "blocked":
        return ActionBlocked(failure.message)
    kind = known.get(failure.kind) or _KNOWN.get(failure.kind)
    try:
        return ServiceFault(f"{failure.kind}: {failure.message}") if kind is None else kind(failure.message)
    except Exception:  # a class that wants more than a text
        return ServiceFault(f"{failure.kind}: {failure.message}")


def message_of(error: BaseException) -> str:
    """Return the text of an exception without addresses, which differ from process to process."""
    try:
        text = str(error.args[0]) if len(error.args) == 1 and isinstance(error.args[0], str) else str(error)
    except Exception as broken:  # an exception of the world that cannot say what it is
        text = f"no text: its __str__ raised {type(broken).__name__}"
    return _ADDRESS.sub("0x...", text)[:MESSAGE_MAX]
