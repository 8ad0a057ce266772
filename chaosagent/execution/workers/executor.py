"""Executors run the jobs of a study; results do not depend on which one is used. The inline one is here."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from chaosagent.clock import monotonic
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY


class Finished(NamedTuple):
    """A job that has ended.

    Attributes:
        ticket: As given to `submit`.
        evaluation: What it told; with status `ERROR` when it could not be run.
    """

    ticket: int
    evaluation: Evaluation


class Executor(Protocol):
    """Runs jobs; each submitted job comes back exactly once, in any order, unless it is dropped."""

    @property
    def capacity(self) -> int:
        """How many jobs it can make use of at a time, at least 1: those that run, and those that wait right behind."""
        ...

    @property
    def workers(self) -> int:
        """How many jobs it runs at a time while the study does something else; 0 where it does nothing else then."""
        ...

    def submit(self, ticket: int, job: Job) -> None:
        """Take a job; `ticket` is unique."""
        ...

    def next_finished(self) -> Finished:
        """Return the next job that has ended, waiting for it; only called when one is out."""
        ...

    def drop_waiting(self) -> None:
        """Forget the jobs that no worker has begun; they never come back."""
        ...

    def close(self) -> None:
        """End all workers; jobs that are out are dropped."""
        ...


LOOKS_PER_LIMIT = 4
LOOK_SECONDS_MAX = 1.0


class InlineExecutor:
    """Runs jobs in this process, in the order of submission.

    Args:
        workbench: Where they are run.
        warn: Called, from another thread, with a line on each run that takes longer than its limit of real time.
    """

    capacity, workers = 1, 0

    def __init__(self, workbench: Workbench, warn: Callable[[str], object] | None = None) -> None:
        self._workbench = workbench
        self._waiting: deque[tuple[int, Job]] = deque()
        self._slow_runs = None if warn is None else SlowRuns(workbench.limits.wall_seconds_max, warn)

    def submit(self, ticket: int, job: Job) -> None:
        self._waiting.append((ticket, job))

    def next_finished(self) -> Finished:
        ticket, job = self._waiting.popleft()
        if self._slow_runs is None:
            return Finished(ticket, self._workbench.evaluate(job))
        self._slow_runs.begin(job)
        try:
            return Finished(ticket, self._workbench.evaluate(job))
        finally:
            self._slow_runs.end()

    def drop_waiting(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()
        if self._slow_runs is not None:
            self._slow_runs.close()


class SlowRuns:
    """Looks now and then, in a thread, whether a run takes longer than it may.

    Args:
        seconds_max: Real seconds that a run may take.
        warn: Called with a line, once for each such run.
    """

    def __init__(self, seconds_max: float, warn: Callable[[str], object]) -> None:
        self._seconds_max, self._warn = seconds_max, warn
        self._job: Job | None = None
        self._begun = 0.0
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, job: Job) -> None:
        """Note that a run begins."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="chaosagent-slow-runs", daemon=True)
            self._thread.start()
        self._begun, self._job = monotonic(), job

    def end(self) -> None:
        """Note that it has ended."""
        self._job = None

    def close(self) -> None:
        """Look no more."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        warned: Job | None = None
        while not self._closed.wait(min(LOOK_SECONDS_MAX, self._seconds_max / LOOKS_PER_LIMIT)):
            job, begun = self._job, self._begun
            if job is not None and job is not warned and monotonic() - begun > self._seconds_max:
                warned = job
                self._warn(self._text(job))

    def _text(self, job: Job) -> str:
        under = "without injections" if job.schedule == EMPTY else f"under `{job.schedule}`"
        return (
            f"a run takes longer than {self._seconds_max:g} s of real time (run.wall_seconds), and cannot be ended in "
            f"this process: task {job.task_id!r}, seed {job.seed}, {under}. --executor process ends such runs."
        )
