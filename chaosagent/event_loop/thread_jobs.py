"""Jobs that the event loop hands to threads, one at a time, and the pool that runs them."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, TypeVarTuple

from chaosagent.event_loop.callback import Callback

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

NOBODY = 0
"""In place of the number of a work: a thread that was not handed one."""

PATIENCE_SECONDS = 5.0
"""How long, in real time, a thread is waited for that has nothing to say: it may wait for another one itself."""

PATIENCE_PARTS = 10
"""In how many parts it is waited for: a machine that stands still meanwhile spends one of them, not all."""


class ThreadJobs:
    """Numbers works from 1, and keeps what their threads ask.

    Args:
        threads_max: How many of them may be begun at a time; further ones wait.

    Attributes:
        called: What threads have asked, each with the number of the work that the thread does.
        woken: Set whenever a thread has asked for something, or is done.
    """

    def __init__(self, threads_max: int) -> None:
        self._threads_max = threads_max
        self.called: deque[tuple[int, Callback]] = deque()
        self.woken: threading.Event | None = None  # made with the first thread
        self._gate = threading.RLock()
        self._closed = False
        self._made = 0
        self._numbers: dict[int, int] = {}  # by thread
        self._open: dict[int, Future[Any]] = {}
        self._asked: dict[int, list[asyncio.Task[Any]]] = {}
        self._stuck: set[int] = set()

    def submit(self, pool: Callable[..., Future[T]], function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        """Hand a function to a pool, and return what becomes of it."""
        self._made += 1
        work = self._open[self._made] = pool(self._run, self._made, function, arguments)
        return work

    @property
    def here(self) -> int:
        """The number of the work that the calling thread does."""
        return self._numbers.get(threading.get_ident(), NOBODY)

    def call(self, number: int, callback: Callback) -> Callback:
        """Take what a thread asks, and return it; in that thread.

        Raises:
            RuntimeError: Nothing more is taken.
        """
        with self._gate:
            if self._closed:
                raise RuntimeError("Event loop is closed")
            self.called.append((number, callback))
        if self.woken is not None:
            self.woken.set()
        return callback

    def close(self) -> None:
        """Take nothing more: what is asked from now on would never be done, and its thread would wait for ever."""
        with self._gate:
            self._closed = True

    def take_call(self) -> Callback | None:
        """Return what is to be done next of what threads have asked, `None` when they have asked for nothing."""
        called = list(self.called)
        if not called:
            return None
        first = min(range(len(called)), key=lambda place: called[place][0])
        del self.called[first]  # threads only add behind it
        return called[first][1]

    def settle(self) -> None:
        """Wait in real time until every thread has asked for something, waits for an answer, or is done."""
        woken = self.woken
        while woken is not None and self._open:
            asking = {number for number, _ in list(self.called)}
            busy = self._busy(asking)
            if not busy or NOBODY in asking or self._waits(NOBODY):  # for a thread of its own a work may well wait
                return
            if not any(woken.wait(PATIENCE_SECONDS / PATIENCE_PARTS) for _ in range(PATIENCE_PARTS)):
                self._stuck.update(busy)  # most likely they wait for other threads
            woken.clear()

    def asked(self, number: int, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Note that a work waits for tasks, which its thread has made."""
        left = [task for task in self._asked.get(number, ()) if not task.done()]
        self._asked[number] = [*left, *tasks]
        self._stuck.discard(number)

    def _busy(self, asking: set[int]) -> list[int]:
        """Return the works that do not ask for anything now, and whose threads are busy."""
        for number in [number for number, work in self._open.items() if work.done()]:
            del self._open[number]
            self._asked.pop(number, None)
        begun = list(self._open)[: self._threads_max]
        quiet = asking | self._stuck
        return [number for number in begun if number not in quiet and not self._waits(number)]

    def _waits(self, number: int) -> bool:
        return not all(task.done() for task in self._asked.get(number, ()))

    def _run(self, number: int, function: Callable[[*Ts], T], arguments: tuple[*Ts]) -> T:
        self._numbers[threading.get_ident()] = number
        try:
            return function(*arguments)
        finally:
            del self._numbers[threading.get_ident()]


def hand_over(work: Future[T], future: asyncio.Future[T]) -> None:
    """Let whoever awaits a work that is done have what became of it."""
    if future.done():
        return
    if work.cancelled():
        future.cancel()
        return
    error = work.exception()
    if isinstance(error, StopIteration):
        error = RuntimeError(f"a function in a thread raised {error!r}")
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(work.result())


class ThreadPool:
    """Runs functions in threads, which are started as they are needed.

    Args:
        threads_max: At most so many; further work waits.
    """

    def __init__(self, threads_max: int) -> None:
        self._threads_max = threads_max
        self._threads: list[threading.Thread] = []
        self._work: SimpleQueue[tuple[Future[object], Callable[[], object]] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        """Have a function run, and return what becomes of it.

        Raises:
            RuntimeError: The pool is closed.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("work was handed to a thread after the end of the run")
            self._work.put((future, lambda: function(*arguments)))  # type: ignore[arg-type]  # a future is invariant
            if not self._idle.acquire(blocking=False) and len(self._threads) < self._threads_max:
                name = f"chaosagent-run-{len(self._threads) + 1}"
                self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
                self._threads[-1].start()
        return future

    def close(self) -> None:
        """Cancel what has not begun, and wait for what has."""
        with self._lock:
            self._closed = True
            try:
                while (work := self._work.get_nowait()) is not None:
                    work[0].cancel()
            except Empty:
                pass
            for _ in self._threads:
                self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            future, call = work
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:  # whoever awaits it is told
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            del work, future, call  # what a thread keeps while it waits lives longer than it should
            self._idle.release()
