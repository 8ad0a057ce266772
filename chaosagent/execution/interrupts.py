"""Keeping an interrupt from the keyboard away from processes that are just being started."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold interrupts back: one that comes meanwhile is heard at the end.

    A terminal interrupts all processes of a command. One that is started in here inherits that it does not hear of it,
    from its first moment; what becomes of it is decided by who has started it. The mask alone is not enough here: the
    system may hand a signal to another thread, and Python then runs the handler in the main one all the same.
    """
    # It is started with the first process that is spawned, and some Pythons then let interrupts through again.
    resource_tracker.ensure_running()
    held: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():  # only that one may say what a signal does
        for kind in (signal.SIGINT, signal.SIGTERM):
            handlers[kind] = signal.signal(kind, lambda number, _frame: held.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for kind, handler in handlers.items():
            signal.signal(kind, signal.SIG_DFL if handler is None else handler)
    for number in dict.fromkeys(held):
        signal.raise_signal(number)


def ignore_interrupts() -> None:
    """Have a process ignore interrupts for good; those it starts do so, too, unless they decide otherwise."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
