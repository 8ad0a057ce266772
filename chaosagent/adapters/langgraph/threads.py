"""The threads of an agent: those that LangGraph starts, and those that a plain function is run in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

from chaosagent.adapters.caller import CALLER, Caller
from chaosagent.errors import TargetError
from chaosagent.virtual_time import VirtualLoop
from chaosagent.wall import WallLoop


class Threads:
    """Takes what threads ask to the event loop of a run, and plain functions from the loop to threads.

    Made on the run's loop, or where there is none: then everything is done at once, in the thread that asks.
    """

    def __init__(self) -> None:
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None
        self._turn = asyncio.Lock()

    def now(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run something asynchronous on the run's loop, for a caller in a thread.

        Raises:
            TargetError: The caller is on the loop, which cannot wait for itself in real time.
        """
        loop = self._loop
        if loop is None:
            return _driven(make())
        if not _is_running_here(loop):
            caller = Caller(loop)
            loop.call_soon_threadsafe(caller.begin, make)
            return caller.served()
        if not isinstance(loop, VirtualLoop):
            raise TargetError(
                "a door of LangGraph is used without `await` on the event loop of the run. Use the asynchronous "
                "method (`ainvoke`, `aget`, `aput`), or call it in a thread."
            )
        return loop.run_until_complete(make())

    async def apart(self, function: Callable[[], Any]) -> Any:
        """Run a plain function where it does not hold up the loop.

        That is the thread that waits for it, if one does; else one of the loop's, and in a study one function at a
        time, so that they act in the order of asking.
        """
        loop, caller = self._loop, CALLER.get()
        if loop is None:
            return function()
        context = contextvars.copy_context()
        if caller is not None:
            return await caller.do(lambda: context.run(function))
        if not isinstance(loop, VirtualLoop | WallLoop):
            return await loop.run_in_executor(None, context.run, function)
        async with self._turn:
            return await loop.run_in_executor(None, context.run, function)


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _driven(waiting: Any) -> Any:
    """Run a coroutine that waits for nothing."""
    try:
        waiting.send(None)
    except StopIteration as done:
        return done.value
    waiting.close()
    raise TargetError("a door of a synchronous run was to be waited for. Make the target asynchronous.")
