"""The threads of an agent: those that its framework starts, and those that a plain function is run in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

from chaosagent.adapters.core.caller import CALLER, is_running_here, served
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
