"""A call in a forked process of its own, in which no run has left anything behind."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, TypeVar

from chaosagent.errors import TargetError
from chaosagent.execution.workers.memory_limit import MAXRSS_BYTES, MEGABYTE, WATCH_SECONDS, resident_megabytes
from chaosagent.execution.workers.process_tree import kill_children, kill_tree

if TYPE_CHECKING:
    import ctypes
    from multiprocessing.connection import Connection

T = TypeVar("T")
OURS = "chaosagent-"
"""How the names of chaosagent's own threads begin: none of them is needed by a run."""


IS_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1


def in_own_process(call: Callable[[], T], *, megabytes_max: float | None = None) -> T:
    """Make a call in a process of its own, and return what it returns.

    Args:
        call: What it returns, or raises, must be picklable. What it prints is not shown.
        megabytes_max: Resident memory that the process may have, in units of 10⁶ bytes; `None` for no limit.

    Raises:
        TargetError: The process has ended before the call had, or has used more memory than it may.
        BaseException: What the call has raised.
    """
    from multiprocessing import Pipe  # 10 ms, and few targets need it

    receiving, sending = Pipe(duplex=False)
    ours = os.getpid()
    _system_library()  # before the fork, in which nothing is to be loaded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads; see `refuse_threads`
        child = os.fork()
    if child == 0:
        receiving.close()
        _answer(call, sending, ours)
    sending.close()
    told: tuple[T, None] | tuple[None, BaseException] | None = None
    try:
        data = _message(child, receiving, megabytes_max)
        if data is not None:
            told = pickle.loads(data)  # our own process's, over our own pipe
    finally:
        receiving.close()
        _end(child, at_once=told is None)  # it has died or is over a limit, or somebody has interrupted this one
        _, status, usage = os.wait4(child, 0)
    if megabytes_max is not None and usage.ru_maxrss * MAXRSS_BYTES / MEGABYTE > megabytes_max:
        raise TargetError(
            f"the process of the run used more than {megabytes_max:g} MB of memory (run.memory_megabytes)."
        )
    if told is None:
        raise TargetError(f"the process of the run has ended before the run had, {_cause_of(status)}.")
    result, error = told
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # without an error there is a result


def _message(child: int, receiving: Connection, megabytes_max: float | None) -> bytes | None:
    """Return what a process sends; `None` when it has ended without a word, or has more memory than it may.

    The pipe alone does not tell that it has ended: a process that the call has forked holds the other end, too.
    """
    from multiprocessing.connection import wait

    seconds = None if megabytes_max is None else WATCH_SECONDS
    with _end_of(child) as ended, contextlib.suppress(EOFError, OSError):
        while not (heard := wait([receiving, *ended], seconds)):
            used = resident_megabytes(child)
            if megabytes_max is not None and used is not None and used > megabytes_max:
                return None
        if receiving in heard or receiving.poll():
            return receiving.recv_bytes()
    return None


@contextlib.contextmanager
def _end_of(child: int) -> Iterator[list[int]]:
    """Yield what can be waited for until a process ends, where the system has it."""
    descriptors: list[int] = []
    with contextlib.suppress(OSError, AttributeError):  # an old kernel, a sandbox, or another system
        descriptors.append(os.pidfd_open(child))
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _end(child: int, *, at_once: bool) -> None:
    """End a process and what it has started; one that has sent its message has seen to the most of that itself."""
    if not IS_LINUX:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL if at_once else 0)
    elif at_once:
        kill_tree(child)
        os.kill(child, signal.SIGKILL)  # it may not have come to making its session yet
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)


@functools.cache
def _system_library() -> ctypes.CDLL | None:
    """Return the C library, `None` where there is no `prctl` in it."""
    import ctypes

    return ctypes.CDLL(None) if IS_LINUX else None


def _be_on_its_own(parent: int) -> None:
    """Let this process lead a session, by which what it has started is found, and end when the one that forked it does.

    Then it is no longer in the process group that is killed with the study.
    """
    library = _system_library()
    if library is not None:
        os.setsid()
        library.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:  # the parent ended before the line above
            os._exit(1)


def _answer(call: Callable[[], object], sending: Connection, parent: int) -> NoReturn:
    """Make the call, send what came of it, and end; nothing that this process would do at its end is done."""
    ours = os.getpid()
    try:
        _be_on_its_own(parent)
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # a lock may be held for ever
        told: tuple[object, BaseException | None]
        try:
            told = (call(), None)
        except BaseException as error:  # also what ends a program: it is raised where the call was made
            told = (None, error)
        if os.getpid() == ours:  # and not a process that the call has forked and let return
            kill_children()
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
