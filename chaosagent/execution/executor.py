"""Executors: where the runs of a study happen. Results do not depend on which one is used."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from chaosagent.execution.workbench import Job
from chaosagent.faults.evaluation import Evaluation


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
