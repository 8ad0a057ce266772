"""Restores the environment of a run afterwards: working folder, umask and forked processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

from chaosagent.errors import TargetError

_OWNER_ONLY = 0o077
_ours = os.getpid()


@contextlib.contextmanager
def restored_environment() -> Iterator[None]:
    """Put back the working folder and the umask after a run, and end what it has forked. Also used as a decorator.

    Raises:
        TargetError: The run has called `os._exit` in a process that is not there for runs alone. In worker processes,
            which may end, and in what a run has forked, it ends the process.
    """
    folder, mask = _folder(), os.umask(_OWNER_ONLY)  # which can only be read by setting it
    os.umask(mask)
    leave, called, process = os._exit, list[int](), os.getpid()
    if multiprocessing.parent_process() is None and process == _ours:
        os._exit = _exit_of_run(leave, called)  # type: ignore[assignment]  # whose parameter has a name
    try:
        yield
    finally:
        os._exit = leave
        if os.getpid() != process:  # what the run has forked would continue the whole search beside this one
            leave(0)
        os.umask(mask)
        if folder and _folder() != folder:
            with contextlib.suppress(OSError):  # the run has deleted it
                os.chdir(folder)
        if called:
            raise TargetError(
                f"the target has called os._exit({called[0]}), which ends its process; let it return, or raise an "
                "exception"
            )


def _exit_of_run(leave: Callable[[int], NoReturn], called: list[int]) -> Callable[[int], NoReturn]:
    """Return what takes the place of `os._exit` during a run; it only notes calls of the run's own thread."""
    thread = threading.get_ident()

    def exit_of_run(status: int, /) -> NoReturn:
        if os.getpid() != _ours or threading.get_ident() != thread:
            leave(status)
        called.append(status)
        raise SystemExit(status)

    return exit_of_run


def _folder() -> str:
    """Return the working folder, empty if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""
