"""Virtual time: an event loop whose clock jumps to the next timer when nothing else is ready.

A 30-second time-out costs microseconds and always ends in the same order: callbacks run in the order in which they
became ready, timers in the order of their time and, at equal times, of their making. Work handed to threads is waited
for in real time and released in the order of asking; it takes no virtual time. Waiting for what can never happen
is a `Deadlock`, a loop that polls without ever waiting a `Livelock`.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import time as real_time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple, cast

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class VirtualTimeError(Exception):
    """A run cannot go on; a verdict on the target, not an error of ours."""


class Deadlock(VirtualTimeError):
    """Nothing is ready and no timer is set: what the target waits for can never happen."""


class Livelock(VirtualTimeError):
    """The target keeps its loop busy without any time passing."""


class TimeLimitReached(VirtualTimeError):
    """The next timer lies behind the limit of virtual time."""


class Clock:
    """The clock of one run.

    Attributes:
        consulted: Whether the target has looked at it.
    """

    __slots__ = ("_loop", "consulted")

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.consulted = False

    def now(self) -> float:
        """Return the virtual seconds since the run began."""
        self.consulted = True
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait for some virtual seconds."""
        await asyncio.sleep(seconds)


class _Callback(asyncio.TimerHandle):
    """A callback that is ready or will be at a time. A handle of its own: asyncio's costs four times as much."""

    __slots__ = ()

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
        when: float,
    ) -> None:
        self._callback: Callable[..., object] | None = callback
        self._args = args
        self._context = contextvars.copy_context() if context is None else context
        self._when = when
        self._cancelled = False

    def __repr__(self) -> str:
        return f"<callback at {self._when}>"

    def cancel(self) -> None:
        self._cancelled = True
        self._callback, self._args = None, ()

    def cancelled(self) -> bool:
        return self._cancelled

    def when(self) -> float:
        return self._when

    def run(self) -> None:
        if self._callback is not None:
            self._context.run(self._callback, *self._args)


class VirtualLoop(asyncio.AbstractEventLoop):
    """An asyncio event loop in virtual time, without input or output.

    Args:
        turns_max: Callbacks that may run without any time passing.
        seconds_max: Virtual seconds after which the loop is stopped.
    """

    def __init__(self, *, turns_max: int = 100_000, seconds_max: float = float("inf")) -> None:
        self._now = 0.0
        self._ready: deque[_Callback] = deque()
        self._timers: list[tuple[float, int, _Callback]] = []
        self._threads: deque[tuple[ThreadFuture[Any], asyncio.Future[Any]]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._made = 0
        self._turns = 0
        self._turns_max, self._seconds_max = turns_max, seconds_max
        self._running = self._closed = False

    # ------------------------------------------------------------------ running

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """Run until a coroutine has ended and return its result.

        Raises:
            Deadlock: Nothing can ever happen any more.
            Livelock: Too many callbacks ran without any time passing.
            TimeLimitReached: The next timer lies behind the limit.
        """
        task = asyncio.ensure_future(cast("Coroutine[Any, Any, T]", future), loop=self)
        asyncio._set_running_loop(self)
        self._running = True
        try:
            self._drain(task)
        finally:
            self._running = False
            asyncio._set_running_loop(None)
        return task.result()

    def _drain(self, task: asyncio.Future[Any]) -> None:
        ready, timers, turns_max = self._ready, self._timers, self._turns_max
        while not task.done():
            if ready:
                self._turns += 1
                if self._turns > turns_max:
                    raise Livelock(f"{turns_max} turns of the event loop without any time passing")
                ready.popleft().run()
            elif self._threads:
                self._release_oldest_thread()
            elif timers:
                when, _, callback = heapq.heappop(timers)
                if callback._cancelled:
                    continue
                if when > self._seconds_max:
                    raise TimeLimitReached(f"the next timer is at {when:g} s, the limit is {self._seconds_max:g} s")
                if when > self._now:
                    self._now, self._turns = when, 0
                ready.append(callback)
            else:
                raise Deadlock("nothing is ready and no timer is set")

    def _release_oldest_thread(self) -> None:
        work, future = self._threads.popleft()
        error = work.exception()
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(work.result())

    def end(self) -> int:
        """Cancel every task that is left, in the order of making, and return how many there were."""
        left = [task for task in self._tasks if not task.done()]
        if left:
            for task in left:
                task.cancel()
            self._turns = 0
            asyncio._set_running_loop(self)
            try:
                self._drain(asyncio.gather(*left, return_exceptions=True))
            except (VirtualTimeError, asyncio.CancelledError):
                pass  # a task that refuses to be cancelled is left behind; its run is over all the same
            finally:
                asyncio._set_running_loop(None)
        self.close()
        return len(left)

    def close(self) -> None:
        """Drop everything that is still due."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        self._tasks.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def idle(self) -> bool:
        """Whether nothing but the running callback can act: no timer, no thread, nothing ready."""
        return not self._ready and not self._threads and all(callback._cancelled for *_, callback in self._timers)

    # ------------------------------------------------------------------ what asyncio asks of a loop

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = _Callback(callback, args, context, self._now)
        self._ready.append(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = _Callback(callback, args, context, when)
        self._made += 1
        heapq.heappush(self._timers, (when, self._made, handle))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + max(delay, 0.0), callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None, **options: Any) -> Any:
        if name is None:
            name = f"task-{len(self._tasks) + 1}"
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context, **options)
        self._tasks[task] = None
        return task

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        pool = executor
        if pool is None:
            self._pool = pool = self._pool or ThreadPoolExecutor(max_workers=8)
        future: asyncio.Future[T] = self.create_future()
        self._threads.append((pool.submit(func, *args), future))
        return future

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore what asyncio would log: when it is told depends on the garbage collector."""

    async def shutdown_asyncgens(self) -> None:
        """Nothing is kept of asynchronous generators."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are skipped when their time comes."""


def virtual_loop(*, turns_max: int, seconds_max: float) -> VirtualLoop:
    """Return a fresh loop of virtual time; see `VirtualLoop`."""
    return VirtualLoop(turns_max=turns_max, seconds_max=seconds_max)  # type: ignore[abstract]  # asyncio's is not, really


def monotonic() -> float:
    """Return real seconds for progress and limits of real time; never part of a trace."""
    return real_time.monotonic()


def cpu() -> float:
    """Return the processor seconds of this process."""
    return real_time.process_time()


def timestamp() -> str:
    """Return the real date and time in UTC, for information in stores; never part of a trace."""
    return real_time.strftime("%Y-%m-%dT%H:%M:%SZ", real_time.gmtime())
