"""Calls that bring what stands behind their door with them, as a handler: calls of frameworks and of the proxy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

COMPLETE = "complete"
"""The operation of a model."""

Handler: TypeAlias = Callable[[dict[str, Any]], Any]
"""What a framework would have called: takes the arguments, after injections, and returns plain data or an awaitable."""

_HANDLER: ContextVar[Handler] = ContextVar("chaosagent_handler")
_BEHIND: ContextVar[bool] = ContextVar("chaosagent_behind", default=False)


def through(door: Callable[..., Any], operation: str, arguments: Mapping[str, Any], handler: Handler) -> Any:
    """Call a door to `handed_over` with a world of its own for this call; tasks that the call makes inherit it.

    Args:
        door: The door, or whatever calls it.
        operation: What is asked.
        arguments: Plain data.
        handler: Takes the arguments that are left of these after injection, and returns plain data or something to be
            awaited for it. It may be called several times, or never.
    """
    token = _HANDLER.set(handler)
    try:
        answer = door(operation, **arguments)
    finally:
        _HANDLER.reset(token)
    return _awaited(answer, handler) if hasattr(answer, "__await__") else answer


async def _awaited(answer: Any, handler: Handler) -> Any:
    token = _HANDLER.set(handler)
    try:
        return await answer
    finally:
        _HANDLER.reset(token)


def handed_over(operation: str, /, **arguments: Any) -> Any:  # noqa: ARG001  # what stands behind a door has it
    """Answer with what the caller of the door has handed over."""
    token = _BEHIND.set(True)
    try:
        answer = _HANDLER.get()(arguments)
    finally:
        _BEHIND.reset(token)
    return _acting(answer) if hasattr(answer, "__await__") else answer


async def _acting(answer: Any) -> Any:
    token = _BEHIND.set(True)
    try:
        return await answer
    finally:
        _BEHIND.reset(token)


def is_behind() -> bool:
    """Whether what stands behind a door acts, and all that it calls.

    An exact replay does not go there: what is counted, named or linked there would be counted otherwise in it.
    """
    return _BEHIND.get()
