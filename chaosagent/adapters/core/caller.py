"""A thread that waits for the event loop of a run, and works for it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

CALLER: ContextVar[Caller | None] = ContextVar("chaosagent_caller", default=None)
"""The thread that waits for this crossing; `None` where no thread waits."""


class Caller:
    """A thread that waits for a task on the loop, and does for it what it is given meanwhile.

    A loop of virtual time lets time pass only where a task that a thread has made is not done. So while the thread
    waits, there is such a task, which does nothing else; while it works, there is none.

    Args:
        loop: Of the run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._task: asyncio.Task[Any] | None = None
        self._working: asyncio.Event = asyncio.Event()

    def begin(self, make: Callable[[], Awaitable[Any]]) -> None:
        """Start the task; on the loop."""
        self._wait()
        self._loop.call_soon(self._begin, make)  # apart, as the task itself is none that time passes for

    def served(self) -> Any:
        """Work for the task until it is done, and return its result; in the thread."""
        while (function := self._work.get()) is not None:
            function()
        assert self._task is not None
        if self._task.cancelled():
            raise asyncio.CancelledError
        return self._task.result()

    async def do(self, function: Callable[[], Any]) -> Any:
        """Have the thread do something; on the loop."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._working.set()
        self._work.put(lambda: self._do(function, future))
        return await future

    def _begin(self, make: Callable[[], Awaitable[Any]]) -> None:
        CALLER.set(self)
        self._task = self._loop.create_task(_awaited(make))
        self._task.add_done_callback(self._end)

    def _end(self, _: object) -> None:
        self._working.set()
        self._work.put(None)

    def _do(self, function: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:  # whoever awaits it is told
            error = raised
        self._loop.call_soon_threadsafe(self._done, future, result, error)

    def _done(self, future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
        if future.done():  # nobody waits any more
            return
        self._wait()
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def _wait(self) -> None:
        self._working = asyncio.Event()
        self._loop.create_task(_awaited(self._working.wait))


def served(loop: asyncio.AbstractEventLoop, make: Callable[[], Awaitable[Any]]) -> Any:
    """Run something asynchronous on the loop of a run, and work for it meanwhile; in a thread of its own."""
    caller = Caller(loop)
    loop.call_soon_threadsafe(caller.begin, make)
    return caller.served()


def is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether who asks is on a loop, which then cannot wait for itself."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


async def _awaited(make: Callable[[], Awaitable[Any]]) -> Any:
    return await make()
