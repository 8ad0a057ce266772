"""Starting worker processes shielded from interrupts, and ending them with everything that they started."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

if sys.platform == "linux":
    import fcntl

ROUNDS_MAX = 10
"""How often is looked for processes that were started in the last moment."""
_PROCESSES = Path("/proc")


def kill_tree(pid: int) -> None:
    """Kill a child of this process that leads a session, and what it has started; see this module."""
    _kill(pid, spared=frozenset())
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_children() -> None:
    """Kill what this process, the leader of a session, has started; nothing where there is no /proc."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(ChildProcessError):  # it has none, as most have: that is cheaper than to look for them
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        _kill(os.getpid(), spared=frozenset({os.getpid()}))
        while True:  # until they are gone
            os.waitpid(-1, 0)


def _kill(pid: int, spared: frozenset[int]) -> None:
    found = set(spared)
    for _ in range(ROUNDS_MAX):
        fresh = _tree(pid) - found
        if not fresh:
            break
        for one in sorted(fresh, key=lambda one: one != pid):  # first the worker, which would start more
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        found |= fresh


def _tree(root: int) -> set[int]:
    """Return a child of this process with its descendants, and all of its session; nothing where there is no /proc."""
    children: dict[int, list[int]] = {}
    reached: list[int] = []
    for place in _PROCESSES.glob("[0-9]*/stat"):
        try:
            facts = place.read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has just ended
            continue
        pid, parent, session = int(place.parent.name), int(facts[1]), int(facts[3])
        children.setdefault(parent, []).append(pid)
        if session == root or (pid == root and parent == os.getpid()):
            reached.append(pid)
    tree: set[int] = set()
    while reached:
        pid = reached.pop()
        if pid not in tree:
            tree.add(pid)
            reached.extend(children.get(pid, ()))
    return tree


def end_with_parent() -> None:
    """Have this worker process, the leader of its group, end with the process that has started it."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        # The other end of this pipe is closed when the parent ends. Then the kernel kills the group: a thread of ours
        # gets no turn while the target holds the interpreter's lock, as an endless regular expression does.
        fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, fcntl.fcntl(parent.sentinel, fcntl.F_GETFL) | fcntl.FASYNC)
    threading.Thread(target=_wait_for_end, args=(parent,), name="chaosagent-parent", daemon=True).start()


def _wait_for_end(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()  # returns at once if it has ended before the kernel was told
    os.killpg(0, signal.SIGKILL)


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
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
