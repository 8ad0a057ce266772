"""Threads for the work that a run hands to them, and that the end of the program does not wait for.

Those of `concurrent.futures` are waited for, whatever becomes of the program: a call that takes a minute would keep an
interrupted study from ending for that minute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


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
