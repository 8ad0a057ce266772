"""Ending a worker process with everything that it has started, and when the process that runs the study has ended.

On Linux a worker that is killed takes along all that descends from it, whatever group or session it is in, except what
has cut itself off: a process in a session of its own whose parent has ended, before or in that moment. If a worker ends
by itself, or together with the study's own process (`kill -9`), only its process group goes; so it is in all cases on
other systems.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
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
