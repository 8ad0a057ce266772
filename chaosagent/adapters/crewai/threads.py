"""The threads of a crew and the event loop of its run."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

from chaosagent.adapters.core.caller import CALLER, is_running_here, served
from chaosagent.errors import TargetError


class Threads:
    """Takes what threads ask to the event loop of a run, and plain functions back to the threads that wait for it.

    CrewAI works in threads, and each of them waits for the one that it has started. So at most one is at work at a
    time, and virtual time passes only while none is.

    Raises:
        TargetError: There is no event loop.
    """

    def __init__(self) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError as error:
            raise TargetError(
                "A crew runs in threads of its own: make the target an `async def`, and `await crew.kickoff_async()`."
            ) from error

    def now(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run something asynchronous on the run's loop, for a caller in a thread.

        Raises:
            TargetError: The caller is on that loop, which cannot wait for itself.
        """
        if self.is_here():
            raise TargetError(
                "A crew is asked without `await` on the event loop of the run. Use `await crew.kickoff_async()` or "
                "`await crew.akickoff()`."
            )
        return served(self._loop, make)

    async def later(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run something asynchronous on the run's loop, for a caller on any loop."""
        return await (make() if self.is_here() else asyncio.to_thread(self.now, make))

    async def apart(self, function: Callable[[], Any]) -> Any:
        """Run a plain function in the thread that waits for it, or in one of the loop's where none does."""
        caller, context = CALLER.get(), contextvars.copy_context()
        if caller is None:
            return await self._loop.run_in_executor(None, context.run, function)
        return await caller.do(lambda: context.run(function))

    def is_here(self) -> bool:
        """Whether the caller is on the loop of the run."""
        return is_running_here(self._loop)
