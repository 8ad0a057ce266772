"""The executor on Ray: actors on this machine or on a cluster, each with a worker process of its own.

The actor does not run the target: it looks after a process that does, with `ProcessExecutor`. So a target that crashes,
hangs or eats memory ends as it does there, with the same words, and takes no actor with it. An actor dies of other
things: its node is lost, or somebody kills it. Then its batch is run again, one job at a time, and a job that
`DEATHS_MAX` actors died of, alone, ends as an `ERROR`. The loss of a node never counts against a job.

An actor gets a batch only once it has loaded the target. So a replacement that finds no free CPU keeps no job waiting.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from chaosagent.clock import monotonic
from chaosagent.errors import ChaosAgentError, StudyError
from chaosagent.execution.workers.executor import Finished
from chaosagent.execution.workers.process_pool import DEATHS_MAX, START_SECONDS_MAX, STARTS_MAX, ProcessExecutor
from chaosagent.execution.workers.ray_connection import RayConnection
from chaosagent.execution.workers.workbench import Job, Workbench, failed_evaluation
from chaosagent.execution.workers.worker import Batch
from chaosagent.extras import require
from chaosagent.faults.evaluation import Evaluation
from chaosagent.limits import RunLimits

BATCH_MAX = 64
BATCH_SECONDS = 0.5
BATCHES_AHEAD = 2
"""Batches that an actor has at most: one that it works on, and one that is there when it has done that."""
LONG_SECONDS = 0.1
"""Jobs that take longer do not wait behind another where an actor may come free earlier."""
LISTEN_SECONDS_MAX = 1.0
NODES_SECONDS = 2.0
"""Real seconds between two looks at which nodes of the cluster are alive."""
RESTARTS_MAX = 3
"""How often a study starts a Ray of its own again."""

logger = logging.getLogger(__name__)


class WorkerActor:
    """What an actor does: look after a worker process, and have it run batches."""

    def __init__(self, setup: bytes, limits: RunLimits) -> None:
        # A spawned process runs the main program of its parent once more; Ray's own takes a second, for nothing.
        vars(sys.modules["__main__"]).pop("__file__", None)
        made: Callable[[], Workbench] = pickle.loads(setup)
        self._pool = ProcessExecutor(made, workers=1, limits=limits)

    def ready(self) -> str:
        """Wait until the target is loaded, and return the id of the actor's node."""
        self._pool.await_ready()
        node: str = require("ray", extra="ray", needed_by="--executor ray").get_runtime_context().get_node_id()
        return node

    def run(self, jobs: list[Job]) -> tuple[bytes, float]:
        """Return what some jobs told, pickled, in their order, and the real seconds they took."""
        begun = monotonic()
        for place, job in enumerate(jobs):
            self._pool.submit(place, job)
        told: list[Evaluation | None] = [None] * len(jobs)
        for _ in jobs:
            finished = self._pool.next_finished()
            told[finished.ticket] = finished.evaluation
        return pickle.dumps(told, protocol=pickle.HIGHEST_PROTOCOL), monotonic() - begun


@dataclass(slots=True)
class _Actor:
    """One actor, and the batches that it was given and has not answered yet, oldest first.

    `node` is empty until the actor has answered `starting`.
    """

    handle: Any
    starting: Any
    node: str = ""
    batches: deque[tuple[Any, Batch]] = field(default_factory=deque)
    since: float = 0.0

    @property
    def awaited(self) -> Any:
        """Return the reference that the actor answers next; `None` if it has nothing to do."""
        if not self.node:
            return self.starting
        return self.batches[0][0] if self.batches else None


class RayExecutor:
    """Runs jobs on Ray actors.

    Args:
        setup: Makes a worker's workbench; pickled, so a function of a module with plain arguments.
        workers: Number of actors, at least 1.
        limits: Of one job: its real time, and the memory of the worker, target and all.
        address: Of a running cluster; a local one is started when empty.
        warn: Called with a line on each actor or node that is lost; logged where there is none.

    Raises:
        MissingExtraError: Ray is not installed.
        StudyError: The cluster cannot be reached, or the workers cannot be set up.
    """

    def __init__(
        self,
        setup: Callable[[], Workbench],
        *,
        workers: int,
        limits: RunLimits | None = None,
        address: str = "",
        warn: Callable[[str], object] | None = None,
    ) -> None:
        self._ray = require("ray", extra="ray", needed_by="--executor ray")
        self._setup, self._limits = pickle.dumps(setup), limits or RunLimits()
        self._waiting: deque[tuple[int, Job]] = deque()
        self._alone: deque[tuple[int, Job]] = deque()
        self._finished: deque[Finished] = deque()
        self._deaths: dict[int, list[str]] = {}  # the nodes of the actors that died of a job alone
        self._warn = warn or logger.warning
        self._nodes_lost: frozenset[str] = frozenset()
        self._nodes_seen = monotonic()
        self._failed_starts = 0
        self._seconds_per_job = BATCH_SECONDS / 8
        self._connection = RayConnection(self._ray, address, self._warn)
        self._restarts = 0
        self._actors: list[_Actor] = []
        self._size = max(1, workers)
        self._connection.open(self._size)
        try:
            self._start_all()
            self._await_first()
        except BaseException:
            self.close()
            raise

    @property
    def capacity(self) -> int:
        return len(self._actors) * self._ahead * min(BATCH_MAX, self._batch)

    @property
    def workers(self) -> int:
        return len(self._actors)

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
        try:
            for actor in self._actors:
                self._ray.kill(actor.handle)
        finally:
            self._actors.clear()
            self._connection.close()

    # ------------------------------------------------------------------ actors

    def _start_all(self) -> None:
        self._kind = self._ray.remote(num_cpus=1)(WorkerActor)
        self._actors = [self._start() for _ in range(self._size)]

    def _restart(self) -> None:
        """Start this study's own Ray again, and have what its actors had run there; no job is blamed."""
        unfinished = [entry for actor in self._actors for _, batch in actor.batches for entry in batch]
        self._waiting.extendleft(reversed(unfinished))
        self._actors.clear()  # an interrupt while Ray starts leaves none, and `close` cannot end those of a dead Ray
        self._restarts += 1
        if self._restarts > RESTARTS_MAX:
            self.close()
            raise StudyError(
                f"Ray on this machine died {self._restarts} times. Start one by hand (`ray start --head`, then "
                "--ray-address), which keeps its logs, or use --executor process; then repeat the command with "
                "--resume."
            )
        self._warn(f"Ray on this machine died and is started again; runs that are repeated: {len(unfinished)}")
        self._connection.close()
        self._connection.open(self._size)
        self._start_all()

    def _start(self) -> _Actor:
        handle = self._kind.remote(self._setup, self._limits)
        return _Actor(handle, handle.ready.remote(), since=monotonic())

    def _await_first(self) -> None:
        """Wait until an actor has loaded the target, so that a target that cannot be loaded is reported at once."""
        while not any(actor.node for actor in self._actors):
            self._listen()

    def _begin(self, actor: _Actor) -> None:
        """Note that an actor has loaded the target; replace one that died before."""
        try:
            actor.node = self._ray.get(actor.starting)
        except self._ray.exceptions.RayError as error:
            refused = isinstance(error, self._ray.exceptions.RayTaskError) or getattr(error, "actor_init_failed", False)
            self._failed_starts += 1
            if refused or self._failed_starts > STARTS_MAX:
                self.close()
                raise self._trouble(error) from error
            self._bury(actor, f"it ended before it was ready: {_reason(error)}")
        else:
            actor.since, self._failed_starts = monotonic(), 0

    def _check_start(self, now: float) -> None:
        """Give up if no actor has found a place and loaded the target for a long time."""
        if any(actor.node for actor in self._actors):
            return
        if now - max(actor.since for actor in self._actors) > START_SECONDS_MAX:
            self.close()
            raise StudyError(
                f"the workers cannot be set up: no Ray worker was ready within {START_SECONDS_MAX:.0f} s. Each needs "
                "a free CPU; `ray status` shows what the cluster has. Then repeat the command with --resume."
            )

    def _check_nodes(self, now: float) -> None:
        """Replace the actors of nodes that are lost, now and then."""
        if now - self._nodes_seen < NODES_SECONDS:
            return
        self._look_at_nodes()
        for actor in list(self._actors):
            if actor.node in self._nodes_lost:
                self._bury(actor, "its node is lost")

    def _look_at_nodes(self) -> None:
        self._nodes_seen = monotonic()
        self._nodes_lost = frozenset(node["NodeID"] for node in self._ray.nodes() if not node["Alive"])

    def _trouble(self, error: Exception) -> ChaosAgentError:
        """Return what keeps the workers from being set up as an error of ours."""
        cause = error.cause if isinstance(error, self._ray.exceptions.RayTaskError) else error
        return cause if isinstance(cause, ChaosAgentError) else StudyError(f"the workers cannot be set up: {cause}")

    # ------------------------------------------------------------------ batches

    @property
    def _ahead(self) -> int:
        """How many batches an actor is to have now."""
        return BATCHES_AHEAD if self._seconds_per_job < LONG_SECONDS else 1

    @property
    def _batch(self) -> int:
        """How many jobs a batch may have so that its time is bearable."""
        return max(1, int(BATCH_SECONDS / self._ahead / max(self._seconds_per_job, 1e-6)))

    def _feed(self) -> None:
        """Give each actor what it will need next; whoever has nothing comes first."""
        ahead = self._ahead
        for count in range(ahead):
            for actor in self._actors:
                if actor.node and len(actor.batches) == count:
                    self._give(actor, ahead)

    def _give(self, actor: _Actor, ahead: int) -> None:
        if self._alone:
            batch = [self._alone.popleft()]
        elif self._waiting:
            free = sum(max(0, ahead - len(other.batches)) for other in self._actors if other.node)
            share = -(-len(self._waiting) // free)
            batch = [self._waiting.popleft() for _ in range(min(BATCH_MAX, share, self._batch))]
        else:
            return
        if not actor.batches:
            actor.since = monotonic()
        actor.batches.append((actor.handle.run.remote([job for _, job in batch]), batch))

    def _listen(self) -> None:
        if self._connection.is_broken:
            self._restart()
        pending = {actor.awaited: actor for actor in self._actors if actor.awaited is not None}
        done, _ = self._ray.wait(list(pending), num_returns=1, timeout=LISTEN_SECONDS_MAX)
        for reference in done:
            actor = pending[reference]
            if actor.node:
                self._take(actor)
            else:
                self._begin(actor)
        now = monotonic()
        for actor in list(self._actors):
            if actor.batches and now - actor.since > self._patience(actor):
                self._bury(actor, "it did not answer in time")
        self._check_nodes(now)
        self._check_start(now)

    def _patience(self, actor: _Actor) -> float:
        """Return the real seconds after which an actor counts as lost; jobs that hang are ended by the actor itself."""
        return (2 * self._limits.wall_seconds_max + START_SECONDS_MAX) * len(actor.batches[0][1])

    def _take(self, actor: _Actor) -> None:
        reference, batch = actor.batches[0]
        try:
            data, seconds = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            self.close()
            raise self._trouble(error) from error
        except self._ray.exceptions.RayError as error:
            self._bury(actor, _reason(error))
            return
        actor.since = monotonic()
        self._seconds_per_job += 0.5 * (seconds / len(batch) - self._seconds_per_job)
        evaluations: list[Evaluation] = pickle.loads(data)  # our own actor's
        for (ticket, _), evaluation in zip(batch, evaluations, strict=True):
            self._deaths.pop(ticket, None)
            self._finished.append(Finished(ticket, evaluation))
        actor.batches.popleft()

    def _bury(self, actor: _Actor, cause: str) -> None:
        """Start another actor, and have its jobs run again; what kills actors again and again alone has failed."""
        count = sum(len(batch) for _, batch in actor.batches)
        self._warn(f"a Ray worker is lost and replaced ({cause}); unfinished runs that are repeated: {count}")
        self._ray.kill(actor.handle)
        if actor.batches:
            (_, first), *others = actor.batches
            for _, batch in reversed(others):
                self._waiting.extendleft(reversed(batch))
            if len(first) > 1:
                self._alone.extend(first)
            else:
                self._try_again(*first[0], actor.node, cause)
        self._actors[self._actors.index(actor)] = self._start()

    def _try_again(self, ticket: int, job: Job, node: str, cause: str) -> None:
        """Run a job again that an actor had alone; it has failed once enough actors died of it on nodes that live."""
        deaths = self._deaths.setdefault(ticket, [])
        deaths.append(node)
        if len(deaths) >= DEATHS_MAX:
            self._look_at_nodes()
            deaths[:] = [one for one in deaths if one not in self._nodes_lost]
        if len(deaths) < DEATHS_MAX:
            self._alone.append((ticket, job))
            return
        del self._deaths[ticket]
        told = failed_evaluation(job.schedule, f"the actor died: {cause}, and so did {DEATHS_MAX} of them")
        self._finished.append(Finished(ticket, told))


def _reason(error: Exception) -> str:
    """Return the line of Ray's error that gives the reason; the first says only that an actor died."""
    if type(error).__name__ == "ActorUnavailableError":
        return "the connection to it broke"
    first, *others = str(error).splitlines() or [type(error).__name__]
    return next((line for line in others if line and not line.startswith("\t")), first).strip().rstrip(".")
