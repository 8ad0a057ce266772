"""A call in a process of its own, in which no run has left anything behind.

The process is forked from this one, so it begins with the target as it was loaded and takes milliseconds; whatever the
call changes is gone with it. What the target has started while it was loaded is not there: threads do not outlive a
fork, and a run would wait for them for ever. So such a target is refused.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NoReturn, TypeVar

from chaosagent.errors import TargetError

T = TypeVar("T")
OURS = "chaosagent-"
"""How the names of chaosagent's own threads begin: none of them is needed by a run."""


def in_own_process(call: Callable[[], T]) -> T:
    """Make a call in a process of its own, and return what it returns.

    Args:
        call: What it returns, or raises, must be picklable. What it prints is not shown.

    Raises:
        TargetError: The process has ended before the call had.
        BaseException: What the call has raised.
    """
    receiving, sending = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads; see `refuse_threads`
        child = os.fork()
    if child == 0:
        receiving.close()
        _answer(call, sending)
    sending.close()
    told: tuple[T, None] | tuple[None, BaseException] | None = None
    try:
        with contextlib.suppress(EOFError, OSError):
            told = pickle.loads(receiving.recv_bytes())  # our own process's, over our own pipe
    finally:
        receiving.close()
        if told is None:  # it has died, or somebody has interrupted this one
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if told is None:
        raise TargetError(f"the process of the run has ended before the run had, {_cause_of(status)}.")
    result, error = told
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # without an error there is a result


def _answer(call: Callable[[], object], sending: Connection) -> NoReturn:
    """Make the call, send what came of it, and end; nothing that this process would do at its end is done."""
    ours = os.getpid()
    try:
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # a lock may be held for ever
        told: tuple[object, BaseException | None]
        try:
            told = (call(), None)
        except BaseException as error:  # also what ends a program: it is raised where the call was made
            told = (None, error)
        if os.getpid() == ours:  # and not a process that the call has forked and let return
            sending.send_bytes(_pickled(told))
    finally:
        os._exit(0)


def _pickled(told: tuple[object, BaseException | None]) -> bytes:
    try:
        data = pickle.dumps(told, protocol=pickle.HIGHEST_PROTOCOL)
        pickle.loads(data)  # exceptions of some classes can only be written
    except Exception as error:
        what = error if told[1] is None else told[1]
        return pickle.dumps((None, TargetError(f"{type(what).__name__}: {what}")))
    return data


def _cause_of(status: int) -> str:
    """Say how a process has ended."""
    code = os.waitstatus_to_exitcode(status)
    return f"killed by signal {-code}" if code < 0 else f"with exit code {code}"


def threads_of_others() -> frozenset[threading.Thread]:
    """Return the threads that are not chaosagent's own."""
    return frozenset(one for one in threading.enumerate() if not one.name.startswith(OURS))


def refuse_threads(before: frozenset[threading.Thread], name: str) -> None:
    """Refuse a target that has started threads since.

    Args:
        before: What `threads_of_others` said before the target was loaded.
        name: Of the target.

    Raises:
        TargetError: There are more threads now.
    """
    started = sorted(one.name for one in threads_of_others() - before)
    if started:
        raise TargetError(
            f"target {name!r} starts a thread while it is loaded ({', '.join(started)}), and the processes of its runs "
            "would be without it. Start it within the run, or leave out `fresh: true`."
        )
