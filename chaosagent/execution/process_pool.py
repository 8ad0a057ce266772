"""The executor with worker processes on this machine.

Workers are spawned, never forked. One that dies, or works longer than the limit on a job, is replaced; its job ends
as an `ERROR` and no other job is lost: each worker has its own pipe, so a broken one takes nothing with it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from chaosagent.clock import monotonic
from chaosagent.errors import ChaosAgentError, StudyError
from chaosagent.execution.executor import Finished
from chaosagent.execution.workbench import Job, Workbench, failed
from chaosagent.faults.evaluation import Evaluation

BATCH_MAX = 8
START_SECONDS_MAX = 120.0


class _Worker:
    """One process, its pipe, and the jobs it was given and has not answered yet."""

    def __init__(self, process: SpawnProcess, pipe: Connection) -> None:
        self.process, self.pipe = process, pipe
        self.jobs: deque[tuple[int, Job]] = deque()
        self.ready = False
        self.since = monotonic()


class ProcessExecutor:
    """Runs jobs in spawned processes.

    Args:
        setup: Makes a worker's workbench; pickled, so a function of a module with plain arguments.
        workers: Number of processes, at least 1.
        wall_seconds_max: Real time that one job may take.

    Raises:
        StudyError: The workers cannot be started.
    """

    def __init__(self, setup: Callable[[], Workbench], *, workers: int, wall_seconds_max: float) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._setup = pickle.dumps(setup)
        self._wall_seconds_max = wall_seconds_max
        self._waiting: deque[tuple[int, Job]] = deque()
        self._finished: deque[Finished] = deque()
        self._failed_starts = 0
        self._workers = [self._start() for _ in range(max(1, workers))]

    def submit(self, ticket: int, job: Job) -> None:
        self._waiting.append((ticket, job))
        self._feed()

    def next_finished(self) -> Finished:
        while not self._finished:
            self._listen()
        return self._finished.popleft()

    def drop_waiting(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        for worker in self._workers:
            self._stop(worker)
        self._workers.clear()

    # ------------------------------------------------------------------ workers

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._setup), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    @staticmethod
    def _stop(worker: _Worker) -> None:
        worker.pipe.close()
        worker.process.kill()
        worker.process.join(5.0)

    def _feed(self) -> None:
        for worker in self._workers:
            share = max(1, min(BATCH_MAX, (len(self._waiting) + len(self._workers) - 1) // len(self._workers)))
            if worker.jobs or not self._waiting:
                continue
            batch = [self._waiting.popleft() for _ in range(min(share, len(self._waiting)))]
            worker.jobs.extend(batch)
            worker.since = monotonic()
            try:
                worker.pipe.send_bytes(pickle.dumps(batch))
            except (BrokenPipeError, OSError):
                self._replace(worker, "the worker process had ended before it was given the run")

    def _listen(self) -> None:
        pipes = {worker.pipe: worker for worker in self._workers}
        for ready in wait(list(pipes), timeout=self._patience()):
            worker = pipes[ready]  # type: ignore[index]  # only our pipes are waited for
            try:
                message = worker.pipe.recv_bytes()
            except (EOFError, OSError):
                self._replace(worker, _cause_of_death(worker.process))
                continue
            self._take(worker, message)
        for worker in list(self._workers):
            limit = self._wall_seconds_max if worker.ready else max(START_SECONDS_MAX, self._wall_seconds_max)
            if worker.jobs and monotonic() - worker.since > limit:
                self._replace(worker, f"the run took longer than {limit:g} s of real time (wall_seconds_max)")
        self._feed()

    def _patience(self) -> float:
        busy = [worker.since for worker in self._workers if worker.jobs]
        return max(0.01, min(1.0, min(busy, default=monotonic()) + self._wall_seconds_max - monotonic()))

    def _take(self, worker: _Worker, message: bytes) -> None:
        answer = pickle.loads(message)  # our own worker's, over our own pipe
        if isinstance(answer, ChaosAgentError):
            self.close()
            raise StudyError(f"a worker process cannot set up the study: {answer}") from answer
        if answer is None:
            worker.ready = True
            worker.since = monotonic()
            return
        worker.ready = True
        self._failed_starts = 0
        ticket, _ = worker.jobs.popleft()
        worker.since = monotonic()
        evaluation: Evaluation = answer
        self._finished.append(Finished(ticket, evaluation))

    def _replace(self, worker: _Worker, cause: str) -> None:
        self._stop(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts > 2 * len(self._workers):
                self.close()
                raise StudyError(f"worker processes end before they are ready: {cause}.")
        elif worker.jobs:
            ticket, job = worker.jobs.popleft()
            self._finished.append(Finished(ticket, failed(job.schedule, cause)))
        self._waiting.extendleft(reversed(worker.jobs))
        self._workers[self._workers.index(worker)] = self._start()


def _cause_of_death(process: SpawnProcess) -> str:
    process.join(5.0)
    code = process.exitcode
    if code is not None and code < 0:
        return f"the worker process was killed by signal {-code}"
    return f"the worker process ended with exit code {code}"


def _work(pipe: Connection, setup: bytes) -> None:
    """Run batches until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the study's own decides
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # what a target prints must not reach the study's own output
    try:
        workbench: Workbench = pickle.loads(setup)()
    except Exception as error:  # the worker is a seam: what keeps it from starting is told to the study
        pipe.send_bytes(pickle.dumps(StudyError(f"{type(error).__name__}: {error}")))
        return
    pipe.send_bytes(pickle.dumps(None))
    while True:
        try:
            batch: list[tuple[int, Job]] = pickle.loads(pipe.recv_bytes())
        except (EOFError, OSError, KeyboardInterrupt):
            return
        for _, job in batch:
            evaluation = workbench.evaluate(job)
            try:
                pipe.send_bytes(pickle.dumps(evaluation))
            except (BrokenPipeError, OSError):
                return
