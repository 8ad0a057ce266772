"""Calls of doors whose `await` was forgotten: they never happened, and no proof may count on them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine, Iterable
from typing import Any

from chaosagent.errors import TargetError
from chaosagent.execution.run.doors import LiveDoor


def close_unawaited(asked: Iterable[Coroutine[Any, Any, Any]]) -> TargetError | None:
    """Close the calls that were never awaited, and return the error that names the first of them.

    A call whose task was cancelled before it began is none of them.

    Args:
        asked: What `LiveRun.cross` returned to the target, call by call.
    """
    forgotten = [
        crossing
        for crossing in asked
        if crossing.cr_frame is not None  # type: ignore[attr-defined]  # a coroutine of ours; finished ones have none
        and inspect.getcoroutinestate(crossing) == inspect.CORO_CREATED
    ]
    if not forgotten:
        return None
    # What was asked is read from the call itself: keeping it beside every call would cost 2 % of a crossing.
    called = inspect.getcoroutinelocals(forgotten[0])
    door: LiveDoor = called["door"]
    for crossing in forgotten:
        crossing.close()
    return TargetError(
        f"{door.interface} {called['operation']} was called and never awaited, so the call did not happen. "
        "Write `await` in front of it."
    )


def close_unbegun(loop: asyncio.AbstractEventLoop) -> None:
    """Close the coroutines of tasks that have not begun: Python would complain of each that it was never awaited."""
    for task in asyncio.all_tasks(loop):
        coroutine = task.get_coro()
        if inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
            coroutine.close()
