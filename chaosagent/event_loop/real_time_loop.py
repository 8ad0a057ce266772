"""An event loop in real time that keeps the fixed order of tasks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from chaosagent.event_loop.ordered_set import OrderedSet
from chaosagent.event_loop.task_order import OrderedLoop, RunTask
from chaosagent.event_loop.virtual_time import TimeLimitReached

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

THREADS_MAX = 8
FORGET_EVERY = 1_000
"""After how many tasks those that have ended are forgotten."""
CLEANING_SECONDS = 1.0
CLEANING_PARTS = 10
"""In how many parts tasks are given that time: a machine that stands still meanwhile spends one of them, not all."""


class RealTimeLoop(OrderedLoop, asyncio.SelectorEventLoop):
    """An asyncio event loop in real time, with input and output, that ends at a limit.

    Args:
        seconds_max: Real seconds after which the run is stopped.

    Attributes:
        now: The time that a trace records: always 0.
        stopped: Why the loop cannot go on, once it cannot; then it is raised at every further attempt.
        idle: Never: nobody knows what goes on outside. So checkpoints take no fingerprints.
    """

    now = 0.0
    idle = False

    def __init__(self, *, seconds_max: float) -> None:
        self._begun, self._is_over = 0.0, False
        self._gate, self._thread = threading.RLock(), threading.get_ident()
        super().__init__()
        self._asyncgens.data = OrderedSet()  # type: ignore[attr-defined]  # a WeakSet, closed all at one time at the end
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

    run_call = run_until_complete

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None, **options: Any) -> Any:
        if self.get_task_factory() is not None:
            return asyncio.SelectorEventLoop.create_task(self, coro, name=name, context=context, **options)
        if self._tasks_made % FORGET_EVERY == 0:
            self.forget_ended()
        return super().create_task(coro, name=name, context=context, **options)

    def _reach_limit(self) -> None:
        self.stopped = TimeLimitReached(f"the limit is {self._seconds_max:g} s of real time")
        self.stop()

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Take what a thread asks.

        Raises:
            RuntimeError: It would never be done, and whoever waits for it would wait for ever.
        """
        with self._gate:
            if self.is_closed():
                raise RuntimeError("Event loop is closed")
            return super().call_soon_threadsafe(callback, *args, context=context)

    def is_closed(self) -> bool:
        """Whether nothing more is done; for other threads a moment earlier than for the loop's own, which cleans up."""
        return super().is_closed() or (self._is_over and threading.get_ident() != self._thread)

    def end(self) -> int:
        """Cancel every task that is left, in the order of making, close the loop, and return how many there were."""
        left = self._cancelled_but(())
        self._let_end(left)
        self._let_end([self.create_task(self.shutdown_asyncgens())])
        with self._gate:
            self._is_over = True
        self._let_end([])  # what threads have asked by now becomes tasks
        self._let_end(self._cancelled_but(left))
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.close()
        return len(left)

    def _cancelled_but(self, known: Collection[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
        """Cancel the tasks that are left, but those that are known, and return them."""
        others = [task for task in asyncio.all_tasks(self) if not isinstance(task, RunTask)]
        others.sort(key=lambda task: (len(task.get_name()), task.get_name()))
        left = [task for task in (*self.tasks_left(), *others) if task not in known]
        for task in left:
            task.cancel()
        return left

    def _let_end(self, tasks: list[asyncio.Task[Any]]) -> None:
        ended = self.create_task(_ended(tasks))
        while not ended.done():
            with suppress(SystemExit):  # of a task that cleans up; its run is over all the same
                super().run_until_complete(ended)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore what asyncio would log: when it is told depends on the garbage collector."""


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:
    """Give tasks a second to clean up; what refuses to end is left behind."""
    for _ in range(CLEANING_PARTS):
        left = [task for task in tasks if not task.done()]
        if not left:
            break
        await asyncio.wait(left, timeout=CLEANING_SECONDS / CLEANING_PARTS)
