"""Real time: an event loop for targets that talk to processes and sockets of their own.

What happens outside cannot be hurried, so a time-out of 30 seconds lasts 30 seconds. The clock of a trace stands still
instead: when an answer comes is a matter of the machine, and equal runs must give equal traces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from chaosagent.virtual_time import TimeLimitReached

T = TypeVar("T")

THREADS_MAX = 8
CLEANING_SECONDS = 1.0


class WallLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop in real time, with input and output, that ends at a limit.

    Args:
        seconds_max: Real seconds after which the run is stopped.

    Attributes:
        now: What a trace is told of the time: always 0.
        stopped: Why the loop cannot go on, once it cannot; then it is raised at every further attempt.
        idle: Never: nobody knows what goes on outside. So checkpoints take no fingerprints.
    """

    now = 0.0
    idle = False

    def __init__(self, *, seconds_max: float) -> None:
        self._begun = 0.0
        super().__init__()
        self._begun = super().time()
        self._seconds_max = seconds_max
        self.stopped: TimeLimitReached | None = None
        self._threads = ThreadPoolExecutor(THREADS_MAX, "chaosagent-run")
        self.set_default_executor(self._threads)

    def time(self) -> float:
        """Return the real seconds since the loop was made."""
        return super().time() - self._begun

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """Run until a coroutine has ended and return its result.

        Raises:
            TimeLimitReached: It takes longer than the run may.
        """
        if self.stopped is not None:
            raise self.stopped
        task: asyncio.Future[T] = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]  # a generator, too
        limit = self.call_at(self._seconds_max, self._reach_limit)
        try:
            return super().run_until_complete(task)
        except RuntimeError:
            if self.stopped is None:
                raise
            raise self.stopped from None
        finally:
            limit.cancel()

    def _reach_limit(self) -> None:
        self.stopped = TimeLimitReached(f"the limit is {self._seconds_max:g} s of real time")
        self.stop()

    def end(self) -> int:
        """Cancel every task that is left, in the order of making, close the loop, and return how many there were."""
        left = sorted(asyncio.all_tasks(self), key=lambda task: (len(task.get_name()), task.get_name()))
        for task in left:
            task.cancel()
        self._let_end(left)
        self._let_end([self.create_task(self.shutdown_asyncgens())])
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.close()
        return len(left)

    def _let_end(self, tasks: list[asyncio.Task[Any]]) -> None:
        ended = self.create_task(_ended(tasks))
        while not ended.done():
            with suppress(SystemExit):  # of a task that cleans up; its run is over all the same
                super().run_until_complete(ended)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore what asyncio would log: when it is told depends on the garbage collector."""


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:
    """Give tasks a second to clean up; what refuses to end is left behind."""
    if tasks:
        await asyncio.wait(tasks, timeout=CLEANING_SECONDS)
