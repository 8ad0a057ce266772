"""Shares an executor between the searches of a study, so that none waits until another is over."""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heappop, heappush
from typing import TypeAlias

from chaosagent.execution.workers.executor import Executor, Finished
from chaosagent.execution.workers.workbench import Job

Flow: TypeAlias = tuple[str, int]
"""A task and a seed, whose jobs share one place in the queue."""


class FairQueue:
    """Hands jobs on to an executor, no more than it can make use of, and fairly (start-time fair queueing).

    While several flows have jobs waiting, each gets a share of the runs in proportion to its weight; within a flow jobs
    go on in the order of submission. The order depends on nothing but submissions, weights and answers.

    Args:
        executor: Runs the jobs.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._waiting: defaultdict[Flow, deque[tuple[int, Job]]] = defaultdict(deque)
        self._heads: list[tuple[float, int, Flow]] = []  # of flows with waiting jobs: when each begins, in virtual time
        self._in_line: set[Flow] = set()
        self._numbers: dict[Flow, int] = {}
        self._ends: dict[Flow, float] = {}
        self._weights: dict[Flow, float] = {}
        self._now = 0.0
        self._out = 0

    @property
    def idle_workers(self) -> int:
        """How many workers have nothing to do and nothing waiting for them."""
        return 0 if self._heads else max(0, self._executor.workers - self._out)

    def weigh(self, flow: Flow, weight: float) -> None:
        """Set the share of a flow, above 0; 1 is usual."""
        self._weights[flow] = weight

    def submit(self, ticket: int, job: Job) -> None:
        """Take a job; `ticket` is unique."""
        flow = (job.task_id, job.seed)
        self._waiting[flow].append((ticket, job))
        self._stand_in_line(flow)
        self._hand_on()

    def next_finished(self, urgent: Flow | None = None) -> Finished:
        """Return the next job that has ended, waiting for it.

        Args:
            urgent: The flow that somebody waits for: all its jobs go on before those of others.
        """
        if urgent is not None:
            waiting = self._waiting[urgent]
            while waiting:
                self._give(*waiting.popleft())
        self._hand_on()
        finished = self._executor.next_finished()
        self._out = max(0, self._out - 1)
        self._hand_on()
        return finished

    def drop_waiting(self) -> None:
        """Forget the jobs that no worker has begun; they never come back."""
        self._waiting.clear()
        self._heads.clear()
        self._in_line.clear()
        self._out = 0  # those that workers have begun may still come back; then there is a little more room than needed
        self._executor.drop_waiting()

    def _stand_in_line(self, flow: Flow) -> None:
        if flow in self._in_line:
            return
        self._in_line.add(flow)
        number = self._numbers.setdefault(flow, len(self._numbers))
        heappush(self._heads, (max(self._now, self._ends.get(flow, 0.0)), number, flow))

    def _hand_on(self) -> None:
        while self._heads and self._out < self._executor.capacity:
            start, _, flow = heappop(self._heads)
            self._in_line.discard(flow)
            waiting = self._waiting[flow]
            if not waiting:
                continue  # they were urgent
            self._now = max(self._now, start)
            self._ends[flow] = start + 1.0 / self._weights.get(flow, 1.0)
            self._give(*waiting.popleft())
            if waiting:
                self._stand_in_line(flow)

    def _give(self, ticket: int, job: Job) -> None:
        self._out += 1
        self._executor.submit(ticket, job)
