"""The memory limit of worker processes: a watch kills a worker that exceeds it."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import threading
from pathlib import Path

from chaosagent.execution.workers.process_tree import kill_tree

MEGABYTE = 1_000_000
WATCH_SECONDS = 0.05
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""What the system counts peaks in."""
_PROCESSES = Path("/proc")


def resident_megabytes(pid: int) -> float | None:
    """Return the resident memory of a process; `None` when it has ended, or the system does not say."""
    try:
        pages = (_PROCESSES / str(pid) / "statm").read_bytes().split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * _PAGE_BYTES / MEGABYTE


def peak_megabytes(megabytes_max: float) -> float:
    """Return the largest resident memory that this process has had so far.

    Args:
        megabytes_max: Up to this, a cheap and sometimes too high answer will do.
    """
    # On Linux a new process begins with the peak of the one that made it; the exact figure takes longer to ask for.
    rough = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES / MEGABYTE
    if rough <= megabytes_max:
        return rough
    try:
        lines = (_PROCESSES / "self" / "status").read_text("ascii", errors="replace").splitlines()
    except OSError:
        return rough
    kibibytes = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    return rough if kibibytes is None else int(kibibytes) * 1024 / MEGABYTE


def raise_oom_score() -> None:
    """Let the kernel, should the machine run out of memory, end this process before the one that runs the study."""
    with contextlib.suppress(OSError):
        (_PROCESSES / "self" / "oom_score_adj").write_text("1000")


class MemoryWatch:
    """Kills the processes it watches when they use more than they may; a thread of its own, so that nothing delays it.

    They are children of this process, and what they have started is killed with them; see `process_tree`. Where the
    system has no /proc it sees nothing, and only the peak at the end of each run counts.

    Args:
        megabytes_max: Resident memory that a process may have, in units of 10⁶ bytes.
    """

    def __init__(self, megabytes_max: float) -> None:
        self._megabytes_max = megabytes_max
        self._watched: set[int] = set()
        self._killed: dict[int, float] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        if _PROCESSES.is_dir():
            threading.Thread(target=self._watch, name="chaosagent-memory", daemon=True).start()

    def add(self, pid: int) -> None:
        """Begin to watch a process."""
        with self._lock:
            self._watched.add(pid)

    def remove(self, pid: int) -> float | None:
        """End watching a process, before it is waited for; return what it had when it was killed, if it was."""
        with self._lock:
            self._watched.discard(pid)
            return self._killed.pop(pid, None)

    def close(self) -> None:
        """End the watch."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(WATCH_SECONDS):
            with self._lock:
                for pid in self._watched - self._killed.keys():
                    used = resident_megabytes(pid)
                    if used is not None and used > self._megabytes_max:
                        self._killed[pid] = used
                        kill_tree(pid)
