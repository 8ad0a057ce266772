"""The executor on Ray: actors that hold the imported target, on this machine or on a cluster.

Batches are sized to about half a second of work. A batch whose actor dies or overstays is run again one job at a
time; the job that fails alone, too, ends as an `ERROR`. So every job ends exactly once, whatever becomes of its actor.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from chaosagent.clock import monotonic
from chaosagent.errors import ChaosAgentError, StudyError
from chaosagent.execution.executor import Finished
from chaosagent.execution.workbench import Job, Workbench, failed
from chaosagent.extras import require
from chaosagent.faults.evaluation import Evaluation

BATCH_MAX = 64
BATCH_SECONDS = 0.5
OBJECT_STORE_BYTES = 80_000_000
START_SECONDS_MAX = 120.0


class Bench:
    """What an actor does: hold a workbench, and run batches on it."""

    def __init__(self, setup: bytes) -> None:
        self._workbench: Workbench = pickle.loads(setup)()

    def ready(self) -> bool:
        """Say that the target is loaded."""
        return True

    def run(self, jobs: list[Job]) -> tuple[list[Evaluation], float]:
        """Return what some jobs told, and the real seconds they took."""
        begun = monotonic()
        return [self._workbench.evaluate(job) for job in jobs], monotonic() - begun


@dataclass(slots=True)
class _Actor:
    """One actor, and the batch that it works on."""

    handle: Any
    batch: list[tuple[int, Job]] = field(default_factory=list)
    pending: Any = None
    since: float = 0.0
    started: bool = False


class RayExecutor:
    """Runs jobs on Ray actors.

    Args:
        setup: Makes an actor's workbench; pickled, so a function of a module with plain arguments.
        workers: Number of actors, at least 1.
        wall_seconds_max: Real time that one job may take.
        address: Of a running cluster; a local one is started when empty.

    Raises:
        MissingExtraError: Ray is not installed.
        StudyError: The cluster cannot be reached, or the actors cannot be set up.
    """

    def __init__(
        self, setup: Callable[[], Workbench], *, workers: int, wall_seconds_max: float, address: str = ""
    ) -> None:
        self._ray = require("ray", extra="ray", needed_by="--executor ray")
        self._setup = pickle.dumps(setup)
        self._wall_seconds_max = wall_seconds_max
        self._waiting: deque[tuple[int, Job]] = deque()
        self._alone: deque[tuple[int, Job]] = deque()
        self._finished: deque[Finished] = deque()
        self._seconds_per_job = BATCH_SECONDS / 8
        self._ours = not self._ray.is_initialized()
        self._connect(max(1, workers), address)
        self._kind = self._ray.remote(num_cpus=1)(Bench)
        self._actors = [self._start() for _ in range(max(1, workers))]
        self._await_first()

    def submit(self, ticket: int, job: Job) -> None:
        self._waiting.append((ticket, job))

    def next_finished(self) -> Finished:
        while not self._finished:
            self._feed()
            self._listen()
        return self._finished.popleft()

    def drop_waiting(self) -> None:
        self._waiting.clear()
        self._alone.clear()

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor.handle)
        self._actors.clear()
        if self._ours:
            self._ray.shutdown()

    # ------------------------------------------------------------------ actors

    def _connect(self, workers: int, address: str) -> None:
        if not self._ours:
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        local = {"num_cpus": workers, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
        try:
            self._ray.init(
                address=address or "local", log_to_driver=False, logging_level="ERROR", **({} if address else local)
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise StudyError(f"Ray cannot be reached at {address or 'this machine'}: {error}") from error

    def _start(self) -> _Actor:
        return _Actor(self._kind.remote(self._setup), since=monotonic())

    def _await_first(self) -> None:
        """Wait until one actor has loaded the target, so that a target that cannot be loaded is told at once."""
        try:
            self._ray.get(self._actors[0].handle.ready.remote(), timeout=START_SECONDS_MAX)
        except self._ray.exceptions.RayError as error:
            self.close()
            cause = error.cause if isinstance(error, self._ray.exceptions.RayTaskError) else error
            if isinstance(cause, ChaosAgentError):
                raise cause from error
            raise StudyError(f"the actors cannot set up the study: {cause}") from error

    def _feed(self) -> None:
        for actor in self._actors:
            if actor.pending is not None:
                continue
            if self._alone:
                batch = [self._alone.popleft()]
            elif self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(self._batch_size(), len(self._waiting)))]
            else:
                return
            actor.batch, actor.since = batch, monotonic()
            actor.pending = actor.handle.run.remote([job for _, job in batch])

    def _batch_size(self) -> int:
        share = -(-len(self._waiting) // len(self._actors))
        wanted = int(BATCH_SECONDS / max(self._seconds_per_job, 1e-6))
        return max(1, min(BATCH_MAX, share, wanted))

    def _listen(self) -> None:
        pending = {actor.pending: actor for actor in self._actors if actor.pending is not None}
        done, _ = self._ray.wait(list(pending), num_returns=1, timeout=1.0)
        for reference in done:
            self._take(pending[reference])
        for actor in self._actors:
            limit = self._wall_seconds_max * len(actor.batch) + (0.0 if actor.started else START_SECONDS_MAX)
            if actor.pending is not None and monotonic() - actor.since > limit:
                self._replace(actor, f"the run took longer than {self._wall_seconds_max:g} s of real time")

    def _take(self, actor: _Actor) -> None:
        try:
            evaluations, seconds = self._ray.get(actor.pending)
        except self._ray.exceptions.RayError as error:
            self._replace(actor, f"the actor died: {str(error).splitlines()[0]}")
            return
        actor.started = True
        self._seconds_per_job = seconds / len(actor.batch)
        for (ticket, _), evaluation in zip(actor.batch, evaluations, strict=True):
            self._finished.append(Finished(ticket, evaluation))
        actor.batch, actor.pending = [], None

    def _replace(self, actor: _Actor, cause: str) -> None:
        """Start another actor; a batch is run again job by job, a single job has failed."""
        self._ray.kill(actor.handle)
        if len(actor.batch) == 1:
            ticket, job = actor.batch[0]
            self._finished.append(Finished(ticket, failed(job.schedule, cause)))
        else:
            self._alone.extend(actor.batch)
        self._actors[self._actors.index(actor)] = self._start()
