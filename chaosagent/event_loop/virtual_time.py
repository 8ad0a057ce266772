"""Virtual time: an event loop whose clock jumps to the next timer when nothing else is ready.

A 30-second time-out costs microseconds and always ends in the same order: callbacks run in the order in which they
became ready, timers in the order of their time and, at equal times, of their making. Work handed to threads is waited
for in real time and released in the order of asking, and so is what its threads ask of the loop (`works`); it takes no
virtual time. Waiting for what can never happen is a `Deadlock`, a loop that polls without ever waiting a `Livelock`.
Threads that were not made by `run_in_executor` (or `asyncio.to_thread`) are unknown to the loop: it does not wait for
them, unless it is told who knows of them.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future as ThreadFuture
from contextlib import suppress
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from chaosagent.event_loop.callback import Callback, Context
from chaosagent.event_loop.task_order import OrderedLoop
from chaosagent.event_loop.thread_jobs import ThreadJobs, ThreadPool, hand_over

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


THREADS_MAX = 8
"""Threads of one run."""


class VirtualTimeError(BaseException):
    """A run cannot go on; a verdict on the target, not an error of ours.

    Not an `Exception`, so that no retry of a target swallows it.
    """


class Deadlock(VirtualTimeError):
    """Nothing is ready and no timer is set: what the target waits for can never happen."""


class Livelock(VirtualTimeError):
    """The target keeps its loop busy: without any time passing, or with next to none, without end."""


class TimeLimitReached(VirtualTimeError):
    """The next timer lies behind the limit of virtual time."""


class VirtualLoop(OrderedLoop):
    """An asyncio event loop in virtual time, without input or output.

    Args:
        turns_max: Callbacks that may run without any time passing.
        turns_total_max: Callbacks that may run in the loop's whole life.
        seconds_max: Virtual seconds after which the loop is stopped.

    Attributes:
        now: Virtual seconds since the loop was made.
        stopped: Why the loop cannot go on, once it cannot; then it is raised at every further attempt.
        tied: A wait and a time-out have ended at the same instant, in the order in which they had begun.
        follower: Is told the time whenever it passes.
    """

    def __init__(
        self, *, turns_max: int = 100_000, turns_total_max: int = 1_000_000, seconds_max: float = float("inf")
    ) -> None:
        super().__init__()
        self.stopped: VirtualTimeError | None = None
        self.follower: Callable[[float], object] | None = None
        self.now, self.tied = 0.0, False
        self._ready: deque[Callback] = deque()
        self._timers: list[tuple[float, int, Callback]] = []
        self._threads: deque[tuple[ThreadFuture[Any], asyncio.Future[Any]]] = deque()
        self._threads_out: Callable[[], bool] | None = None
        self._pool: ThreadPool | None = None
        self._thread = threading.get_ident()
        self._works = ThreadJobs(THREADS_MAX)
        self._guests: list[asyncio.Task[Any]] = []
        self._timers_made = 0
        self._generators: list[weakref.ref[AsyncGenerator[Any, Any]]] = []
        self._turns = self._turns_before = 0
        self._turns_max, self._turns_total_max, self._seconds_max = turns_max, turns_total_max, seconds_max
        self._running = self._closed = self._ended = False

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of its limits on turns and on time that were used; turns count as if no time had passed."""
        turns = (self._turns_before + self._turns) / min(self._turns_max, self._turns_total_max)
        return turns, self.now / self._seconds_max

    # ------------------------------------------------------------------ running

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """Run until a coroutine has ended and return its result; also from inside a callback of this loop.

        Raises:
            Deadlock: Nothing can ever happen any more.
            Livelock: Too many callbacks ran, without any time passing or at all.
            TimeLimitReached: The next timer lies behind the limit.
        """
        task: asyncio.Task[T] = self.create_task(future)
        return self._run(task)

    def run_call(self, call: Coroutine[Any, Any, T]) -> T:
        """Run a call of a synchronous target to its end, in a task that the target never sees: it has no number."""
        task = asyncio.Task(call, loop=self, name="chaosagent")
        self._tasks_made += 1
        self._tasks[self._tasks_made] = task
        return self._run(task)

    def _run(self, task: asyncio.Task[T]) -> T:
        made = self._tasks_made
        with _Entered(self):
            self._drain(task)
        self._tasks.pop(made, None)
        return task.result()

    def _drain(self, task: asyncio.Future[Any]) -> None:
        if self.stopped is not None:
            raise self.stopped
        ready = self._ready
        while not task.done():
            if ready:
                self._turns += 1
                if self._turns > self._turns_max:
                    self._stop(Livelock(f"{self._turns_max} turns of the event loop without any time passing"))
                ready.popleft().run()
            elif self._works.called or self._threads or (self._threads_out is not None and self._threads_out()):
                self._serve_threads()
            elif self._timers:
                self._go_to_next_timer()
            else:
                self._stop(Deadlock("nothing is ready and no timer is set"))

    def _serve_threads(self) -> None:
        """Do the next thing that a thread asks for, or take what one has done; else let time pass, or wait for them."""
        self._works.settle()
        asked = self._works.take_call()
        if asked is not None:
            self._ready.append(asked)
        elif self._timers and any(not guest.done() for guest in self._guests):
            self._go_to_next_timer()
        else:
            self._wait_for_oldest_thread()

    def _stop(self, why: VirtualTimeError) -> NoReturn:
        self.stopped = why
        raise why

    def _go_to_next_timer(self) -> None:
        """Let time pass until the next timer, and make ready all that are due then."""
        timers = self._timers
        when, _, callback = heapq.heappop(timers)
        if callback._cancelled:
            return
        if when > self._seconds_max:
            self._stop(TimeLimitReached(f"the next timer is at {when:g} s, the limit is {self._seconds_max:g} s"))
        self._turns_before += self._turns
        if self._turns_before > self._turns_total_max:
            self._stop(Livelock(f"{self._turns_total_max} turns of the event loop in one run"))
        self.now, self._turns = when, 0
        if self.follower is not None:
            self.follower(when)
        self._ready.append(callback)
        while timers and timers[0][0] == when:
            also_due = heapq.heappop(timers)[2]
            self.tied = self.tied or callback.is_tied_with(also_due)
            self._ready.append(also_due)

    def _wait_for_oldest_thread(self) -> None:
        """Wait in real time until the thread that was asked first is done, or some thread calls back."""
        woken = self._works.woken
        if woken is not None and not (self._threads and self._threads[0][0].done()):
            woken.wait()
            woken.clear()
        else:
            hand_over(*self._threads.popleft())

    def wait_while(self, threads_out: Callable[[], bool]) -> None:
        """Wait in real time, too, while threads are out that somebody else has started.

        Args:
            threads_out: Says whether there are any; each must call back when it is done, as `call_soon_threadsafe` does
                it. They are not put into an order: let there be one at a time.
        """
        self._threads_out, self._works.woken = threads_out, self._works.woken or threading.Event()

    def end(self) -> int:
        """Cancel every task that is left, in the order of making, and return how many there were.

        They may clean up, for `turns_max` turns in all; then asynchronous generators are closed.
        """
        self._ended = True
        self._works.close()
        left = self.tasks_left()
        generators = [generator for known in self._generators if (generator := known()) is not None]
        if left or generators:
            self._turns, self._turns_before, self._turns_total_max = 0, 0, self._turns_max
            self.stopped = None
            for task in left:
                task.cancel()
            with _Entered(self):
                if left:
                    self._finish(asyncio.gather(*left, return_exceptions=True))
                for generator in generators:
                    self._finish(self.create_task(generator.aclose()))
        if self._pool is not None:
            with _Entered(self):
                self._let_threads_go()
        self.close()
        return len(left)

    def _let_threads_go(self) -> None:
        """Cancel what threads still ask of the loop: they wait for it, and the pool waits for them."""
        for _ in range(2):
            for task in self.tasks_left():
                task.cancel()
            while (asked := self._works.take_call()) is not None:
                self._ready.append(asked)
            for _ in range(self._turns_max):
                if not self._ready:
                    break
                with suppress(BaseException):
                    self._ready.popleft().run()

    def _finish(self, task: asyncio.Future[Any]) -> None:
        with suppress(VirtualTimeError, SystemExit):  # what refuses to end is left behind; its run is over all the same
            self._drain(task)
        if task.done() and not task.cancelled():
            task.exception()  # nobody else asks for it

    def close(self) -> None:
        """Drop everything that is still due; work in threads ends first, so that nothing acts after its run."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        self._tasks.clear()
        self._generators.clear()
        if self._pool is not None:
            self._pool.close()

    def _generator_begins(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators.append(weakref.ref(generator))

    def _generator_is_dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._closed:
            self.call_soon(self.create_task, generator.aclose())

    @property
    def idle(self) -> bool:
        """Whether nothing but the running callback can act: no timer, no thread, nothing ready."""
        return (
            not self._ready
            and not self._works.called
            and not self._threads
            and not (self._threads_out is not None and self._threads_out())
            and all(callback._cancelled for *_, callback in self._timers)
        )

    # ------------------------------------------------------------------ what asyncio asks of a loop

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context = None) -> asyncio.Handle:
        handle = Callback(callback, args, context, self.now)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context = None
    ) -> asyncio.TimerHandle:
        handle = Callback(callback, args, context, when)
        if when <= self.now:
            self._ready.append(handle)
        elif when > self.now:
            self._timers_made += 1
            heapq.heappush(self._timers, (when, self._timers_made, handle))
        else:
            raise ValueError(f"call_at(when={when!r}): when must be a number of seconds.")
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + max(delay, 0.0), callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context = None
    ) -> asyncio.Handle:
        if self._ended:
            raise RuntimeError("Event loop is closed")
        if threading.get_ident() == self._thread:
            return self.call_soon(callback, *args, context=context)
        number = self._works.here
        handle = Callback(self._call_for_thread, (number, callback, args), context, self.now)
        return self._works.call(number, handle)

    def _call_for_thread(self, number: int, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        """Remember the tasks that a thread makes: it waits for them, so that they must not wait for it."""
        known = self._tasks_made
        callback(*args)
        if self._tasks_made > known:
            self._guests = [task for task in self._guests if not task.done()]
            made = [self._tasks[number] for number in range(known + 1, self._tasks_made + 1) if number in self._tasks]
            self._guests.extend(made)
            self._works.asked(number, made)

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()
        woken = self._works.woken = self._works.woken or threading.Event()
        if executor is None:
            self._pool = self._pool or ThreadPool(THREADS_MAX)
            work = self._works.submit(self._pool.submit, func, *args)
        else:
            work = executor.submit(func, *args)
        work.add_done_callback(lambda _: woken.set())
        self._threads.append((work, future))
        return future

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def get_task_factory(self) -> None:
        """None: anyio asks for it whenever it makes a task."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore what asyncio would log: when it is told depends on the garbage collector."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are skipped when their time comes."""


class _Entered:
    """Makes a loop the running one, and afterwards the one that was running before, with its task.

    A class: `contextmanager` would cost a synchronous target a twelfth of a crossing.
    """

    __slots__ = ("_hooks", "_loop", "_outer", "_outer_task", "_was_running")

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def __enter__(self) -> None:
        loop = self._loop
        self._outer = outer = asyncio._get_running_loop()
        self._outer_task = None if outer is None else asyncio.current_task(outer)
        if outer is not None and self._outer_task is not None:
            asyncio.tasks._leave_task(outer, self._outer_task)
        self._was_running, self._hooks = loop._running, sys.get_asyncgen_hooks()
        asyncio._set_running_loop(loop)
        sys.set_asyncgen_hooks(firstiter=loop._generator_begins, finalizer=loop._generator_is_dropped)
        loop._running = True

    def __exit__(self, *_: object) -> None:
        outer = self._outer
        self._loop._running = self._was_running
        sys.set_asyncgen_hooks(*self._hooks)
        asyncio._set_running_loop(outer)
        if outer is not None and self._outer_task is not None:
            asyncio.tasks._enter_task(outer, self._outer_task)


def _refuse_input_and_output(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError(
        "The event loop of a run has virtual time and no input or output. Put what talks to sockets or processes "
        "behind a door as a plain function, or into a thread (asyncio.to_thread)."
    )


for _name in (
    "add_reader", "add_signal_handler", "add_writer", "connect_read_pipe", "connect_write_pipe",
    "create_connection", "create_datagram_endpoint", "create_server", "create_unix_connection", "create_unix_server",
    "getaddrinfo", "getnameinfo", "sendfile", "sock_accept", "sock_connect", "sock_recv", "sock_sendall", "start_tls",
    "subprocess_exec", "subprocess_shell",
):  # fmt: skip
    setattr(VirtualLoop, _name, _refuse_input_and_output)


def virtual_loop(*, turns_max: int, seconds_max: float, turns_total_max: int = 1_000_000) -> VirtualLoop:
    """Return a fresh loop of virtual time; see `VirtualLoop`."""
    return VirtualLoop(turns_max=turns_max, turns_total_max=turns_total_max, seconds_max=seconds_max)  # type: ignore[abstract]  # asyncio's is not, really
