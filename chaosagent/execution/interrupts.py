"""Keeping an interrupt from the keyboard away from processes that are just being started."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold interrupts back: one that comes meanwhile is heard at the end.

    A terminal interrupts all processes of a command. One that is started in here inherits that it does not hear of it,
    from its first moment; what becomes of it is decided by who has started it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """Have a process ignore interrupts for good; those it starts do so, too, unless they decide otherwise."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
