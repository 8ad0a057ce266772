"""The executor in this process: one job after the other. It cannot enforce limits of real time."""

from __future__ import annotations

from collections import deque

from chaosagent.execution.executor import Finished
from chaosagent.execution.workbench import Job, Workbench


class InlineExecutor:
    """Runs jobs in this process, in the order of submission."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._waiting: deque[tuple[int, Job]] = deque()

    def submit(self, ticket: int, job: Job) -> None:
        self._waiting.append((ticket, job))

    def next_finished(self) -> Finished:
        ticket, job = self._waiting.popleft()
        return Finished(ticket, self._workbench.evaluate(job))

    def drop_waiting(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()
