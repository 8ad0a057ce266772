"""Calls of doors whose `await` was forgotten: they never happened, and nothing about them could be proved."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Iterable
from typing import Any, NamedTuple

from chaosagent.errors import TargetError


class Asked(NamedTuple):
    """One call of a door in an asynchronous target.

    Attributes:
        crossing: What the target has to await.
        interface: Of the door.
        operation: What was asked.
    """

    crossing: Coroutine[Any, Any, Any]
    interface: str
    operation: str


def close_unawaited(asked: Iterable[Asked]) -> TargetError | None:
    """Close the calls that were never awaited, and return the error that names the first of them.

    A call whose task was cancelled before it began is none of them.
    """
    forgotten = [
        one
        for one in asked
        if one.crossing.cr_frame is not None  # type: ignore[attr-defined]  # a coroutine of ours; finished ones have none
        and inspect.getcoroutinestate(one.crossing) == inspect.CORO_CREATED
    ]
    for one in forgotten:
        one.crossing.close()
    if not forgotten:
        return None
    first = forgotten[0]
    return TargetError(
        f"{first.interface} {first.operation} was called and never awaited, so the call did not happen. "
        "Write `await` in front of it."
    )
