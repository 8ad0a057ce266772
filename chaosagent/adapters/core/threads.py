"""The threads of an agent: those that its framework starts, and those that a plain function is run in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

from chaosagent.errors import TargetError
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.event_loop.virtual_time import VirtualLoop


class Threads:
    """Takes what threads ask to the event loop of a run, and plain functions from the loop to threads.

    Made on the run's loop, or where there is none: then everything is done at once, in the thread that asks.

    Args:
        framework: Whose agents ask.
        remedy: What its users do instead of holding up the loop, as a whole sentence.
        nests: A caller on a loop of virtual time may have that loop work within its call.
    """

    def __init__(self, framework: str, remedy: str, *, nests: bool = True) -> None:
        self._framework, self._remedy, self._nests = framework, remedy, nests
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None
        self._turn = asyncio.Lock()

    def now(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run something asynchronous on the run's loop, for a caller in a thread.

        Raises:
            TargetError: The caller is on the loop, which cannot wait for itself: in real time, or unless it nests.
        """
        loop = self._loop
        if loop is None:
            return _driven(make())
        if not is_running_here(loop):
            return served(loop, make)
        if not self._nests or not isinstance(loop, VirtualLoop):
            raise TargetError(
                f"a door of {self._framework} is used without `await` on the event loop of the run. {self._remedy}"
            )
        return loop.run_until_complete(make())

    async def later(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run something asynchronous on the run's loop, for a caller on any loop."""
        return await (make() if self.is_here() else asyncio.to_thread(self.now, make))

    def is_here(self) -> bool:
        """Whether the caller is on the loop of the run."""
        return self._loop is None or is_running_here(self._loop)

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
        if not isinstance(loop, VirtualLoop | RealTimeLoop):
            return await loop.run_in_executor(None, context.run, function)
        async with self._turn:
            return await loop.run_in_executor(None, context.run, function)


def _driven(waiting: Any) -> Any:
    """Run a coroutine that waits for nothing."""
    try:
        waiting.send(None)
    except StopIteration as done:
        return done.value
    waiting.close()
    raise TargetError("a door of a synchronous run was to be waited for. Make the target asynchronous.")


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
