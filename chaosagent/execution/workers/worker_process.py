"""A worker process as its executor sees it: how it is started and ended, what it has to do, and what it died of."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from types import ModuleType

from chaosagent.clock import monotonic
from chaosagent.execution.workers.process_tree import hold_interrupts, kill_tree
from chaosagent.execution.workers.workbench import Job
from chaosagent.execution.workers.worker import work

HASH_SEED = "PYTHONHASHSEED"
END_SECONDS_MAX = 20.0
"""How long a process whose pipe has ended may take to end itself: a slow machine stops it in the middle of that."""
_STARTING = threading.Lock()
"""What a start changes for a moment, the environment and the running program, is of the whole process."""
_SPAWNING = multiprocessing.get_context("spawn")


class WorkerProcess:
    """One process, its pipe, and the jobs it was given and has not answered yet.

    Args:
        setup: Pickle of a function that makes the worker's workbench.
        megabytes_max: Resident memory that the process may have, in units of 10⁶ bytes.
        hash_seed: Of the process; `None` for what the environment says.

    Attributes:
        jobs: With their tickets, in the order in which it works on them.
        reserved: A job that it gets as soon as it is ready.
        ready: It has loaded the target.
        forgetting: It was told to forget some jobs and has not said yet that it did. It may work on one of them, so
            until then it is given nothing that could be blamed for what becomes of that one.
        answered: How many jobs it has answered.
        since: Real seconds at which it began what it does now.
    """

    def __init__(self, setup: bytes, megabytes_max: float, hash_seed: str | None = None) -> None:
        self.pipe, theirs = _SPAWNING.Pipe()
        self._process = _SPAWNING.Process(target=work, args=(theirs, setup, megabytes_max), daemon=True)
        with _STARTING, hold_interrupts(), _hash_seed(hash_seed), _without_program():
            self._process.start()
        theirs.close()
        self.pid = self._process.pid or 0
        self.jobs: deque[tuple[int, Job]] = deque()
        self.reserved: tuple[int, Job] | None = None
        self.ready = self.forgetting = False
        self.answered = 0
        self.since = monotonic()

    @property
    def idle(self) -> bool:
        """Whether it certainly works on nothing."""
        return self.ready and not self.jobs and not self.forgetting

    def send(self, data: bytes) -> None:
        """Send a pickle; of a dead process the end of its pipe is heard next."""
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(data)

    def end(self) -> None:
        """Kill it and what it has started."""
        self.pipe.close()
        kill_tree(self.pid)
        self._process.kill()  # it may not have come to making its group yet
        self._process.join(5.0)

    def cause_of_death(self) -> str:
        """Return what a process died of whose pipe has ended."""
        self._process.join(END_SECONDS_MAX)
        code = self._process.exitcode
        if code is not None and code < 0:
            try:
                name = f" ({signal.Signals(-code).name})"
            except ValueError:
                name = ""
            return f"the worker process was killed by signal {-code}{name}"
        return f"the worker process ended with exit code {code}"


@contextlib.contextmanager
def _without_program() -> Iterator[None]:
    """Let the processes that are started meanwhile not execute the running program.

    `multiprocessing` does so in every child, for what is pickled by name from `__main__`. A worker needs nothing of it,
    and a script without a `__main__` guard would search again in each of them.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


@contextlib.contextmanager
def _hash_seed(seed: str | None) -> Iterator[None]:
    """Give the processes that are started meanwhile another hash seed."""
    if seed is None:
        yield
        return
    before = os.environ.get(HASH_SEED)
    os.environ[HASH_SEED] = seed
    try:
        yield
    finally:
        if before is None:
            del os.environ[HASH_SEED]
        else:
            os.environ[HASH_SEED] = before
