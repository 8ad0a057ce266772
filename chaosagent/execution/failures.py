"""Exceptions as data and back: what a failure is in a trace, and what the agent sees raised."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chaosagent.vocabulary import ActionBlocked, Failure, ServiceFault, StatusError

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_KNOWN: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        ArithmeticError, AttributeError, FileNotFoundError, IndexError, KeyError, LookupError, NotImplementedError, OSError,
        PermissionError, RuntimeError, TypeError, ValueError, ZeroDivisionError, ServiceFault,
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
        return Failure("status", error.message, error.status, error.retry_after)
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
    return ServiceFault(f"{failure.kind}: {failure.message}") if kind is None else kind(failure.message)


def message_of(error: BaseException) -> str:
    """Return the text of an exception without addresses, which differ from process to process."""
    text = str(error.args[0]) if len(error.args) == 1 and isinstance(error.args[0], str) else str(error)
    return _ADDRESS.sub("0x...", text)[:MESSAGE_MAX]
