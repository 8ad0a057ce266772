"""The executor with worker processes on this machine.

Workers are spawned, never forked, and each has its own pipe, so a broken one takes nothing with it. One that dies,
works longer than it may on a job, or uses more memory than it may is killed with what it has started
(`process_tree` says what that is) and replaced; the jobs that it had not begun go to others. What becomes of the one it
worked on:

* longer than `wall_seconds_max`: the job is tried again in a fresh worker, with nothing beside it; if that takes as
  long, the run under faults is `HUNG`, and one without is an `ERROR`;
* more memory than `memory_megabytes_max`: an `ERROR`, unless the worker had run other jobs before, which may have left
  it the memory: then the job is tried again in a fresh one;
* dead: whoever killed it may have come from outside, so the job is tried again, in a fresh worker and with nothing
  beside it; the job that `DEATHS_MAX` workers died of ends as an `ERROR`.
"""

from __future__ import annotations

import logging
import pickle
import selectors
from collections import Counter, deque
from collections.abc import Callable

from chaosagent.clock import monotonic
from chaosagent.errors import StudyError
from chaosagent.execution.workers.executor import Finished
from chaosagent.execution.workers.memory_limit import MemoryWatch
from chaosagent.execution.workers.workbench import Job, Workbench, failed_evaluation, hung_evaluation
from chaosagent.execution.workers.worker import Answer, Batch, Dropped, Ready
from chaosagent.execution.workers.worker_process import WorkerProcess
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.limits import RunLimits

AHEAD_MAX = 16
"""Jobs that a worker has at most: the one it works on, and those behind it."""
AHEAD_SECONDS = 0.1
"""Real time of work that a worker has ready, so that it need not wait for the study; long jobs are not hoarded."""
AHEAD_BYTES_MAX = 16_000
"""What may lie in the pipe of a worker that is busy: so much fits, and sending it never waits."""
DEATHS_MAX = 3
STALL_SECONDS = 0.5
"""A worker that is so long at one job has the others taken away when somebody else could run them."""
STARTS_MAX = 5
"""Workers that may end before they are ready in a row, or with nothing to do since the last job was answered."""
START_SECONDS_MAX = 120.0
WAIT_SECONDS_MAX = 0.25

logger = logging.getLogger(__name__)


class ProcessExecutor:
    """Runs jobs in spawned processes.

    Args:
        setup: Makes a worker's workbench; pickled, so a function of a module with plain arguments.
        workers: Number of processes, at least 1.
        limits: Of one job: its real time, and the memory of the worker, target and all.
        hash_seed: Of every worker process; by default what the environment says.

    Attributes:
        replaced: How many workers were replaced so far.
        printed_bytes: How much the target has printed, which nobody sees.

    Raises:
        StudyError: The workers cannot be started.
    """

    def __init__(
        self,
        setup: Callable[[], Workbench],
        *,
        workers: int,
        limits: RunLimits | None = None,
        hash_seed: str | None = None,
    ) -> None:
        self._setup, self._hash_seed = pickle.dumps(setup), hash_seed
        self._limits = limits or RunLimits()
        self._waiting: deque[tuple[int, Job]] = deque()
        self._finished: deque[Finished] = deque()
        self._deaths: Counter[int] = Counter()
        self._overtimes: set[int] = set()
        self._seconds_per_job = AHEAD_SECONDS
        self.printed_bytes = 0
        self._failed_starts = self._idle_deaths = 0
        self._torn = False
        self.replaced = 0
        self._selector = selectors.DefaultSelector()
        self._watch = MemoryWatch(self._limits.memory_megabytes_max)
        self._workers: list[WorkerProcess] = []
        for _ in range(max(1, workers)):
            self._workers.append(self._start())

    @property
    def capacity(self) -> int:
        return (self._ahead + 1) * len(self._workers)

    @property
    def workers(self) -> int:
        return len(self._workers)

    def submit(self, ticket: int, job: Job) -> None:
        self._waiting.append((ticket, job))
        self._guarded(self._feed_idle)

    def next_finished(self) -> Finished:
        self._guarded(self._work_on)
        return self._finished.popleft()

    def await_ready(self) -> None:
        """Wait until a worker has loaded the target.

        Raises:
            StudyError: It cannot be loaded, or the workers end before they have done so.
        """
        while not any(worker.ready for worker in self._workers):
            self._guarded(self._listen)

    def drop_waiting(self) -> None:
        self._waiting.clear()
        for worker in self._workers:
            worker.reserved = None
            if self._torn:
                worker.jobs.clear()  # the workers are replaced before anything else
            else:
                self._take_back(worker)
        self._waiting.clear()

    def close(self) -> None:
        self._watch.close()
        for worker in self._workers:
            self._end(worker)
        self._workers.clear()
        self._selector.close()

    def _guarded(self, step: Callable[[], None]) -> None:
        """Do a step; an interrupt in the middle of it may tear a message, and then no pipe can be trusted any more."""
        if self._torn:
            self._torn = False
            self._renew()
        try:
            step()
        except KeyboardInterrupt:
            self._torn = True
            raise

    # ------------------------------------------------------------------ jobs out, answers in

    def _work_on(self) -> None:
        while not self._finished:
            self._feed()
            self._listen()

    def _listen(self) -> None:
        # Stalls are looked for now and then; the wall limit need not be kept to the millisecond.
        for key, _ in self._selector.select(min(WAIT_SECONDS_MAX, self._limits.wall_seconds_max)):
            self._hear(key.data)
        now = monotonic()
        for worker in list(self._workers):
            self._check_time(worker, now)

    @property
    def _ahead(self) -> int:
        """How many jobs a worker is to have now, the one that it works on among them."""
        return max(1, min(AHEAD_MAX, int(AHEAD_SECONDS / self._seconds_per_job)))

    def _feed_idle(self) -> None:
        for worker in self._workers:
            if worker.idle:
                self._give(worker, 1)
                return

    def _feed(self) -> None:
        """Give jobs to the workers that will soon have none, and take them from one that is stuck."""
        ahead = self._ahead
        hungry = [one for one in self._workers if one.ready and not one.forgetting and len(one.jobs) <= ahead // 2]
        hungry.sort(key=lambda worker: len(worker.jobs))
        for place, worker in enumerate(hungry):
            if self._waiting:
                share = -(-len(self._waiting) // (len(hungry) - place))
                self._give(worker, min(ahead - len(worker.jobs), share))
        if not self._waiting and any(worker.idle for worker in self._workers):
            now = monotonic()
            for worker in self._workers:
                stalled = len(worker.jobs) > 1 and now - worker.since > STALL_SECONDS
                if stalled and not worker.pipe.poll():  # it may have answered while the study was busy
                    self._take_back(worker)

    def _give(self, worker: WorkerProcess, count: int) -> None:
        batch: Batch = [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]
        if not batch:
            return
        data = pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL)
        if worker.jobs and len(data) > AHEAD_BYTES_MAX:
            self._waiting.extendleft(reversed(batch))
            return
        begins = not worker.jobs
        worker.jobs.extend(batch)
        worker.send(data)
        if begins:
            worker.since = monotonic()  # what keeps the study from sending is no time of the run

    def _take_back(self, worker: WorkerProcess) -> None:
        """Let a worker forget what it has not begun, without waiting for it: it may be long at its first job.

        What it has begun by then is run twice; that answer is not heard.
        """
        if len(worker.jobs) > 1:
            head = worker.jobs.popleft()
            self._waiting.extendleft(reversed(worker.jobs))
            worker.jobs, worker.forgetting = deque([head]), True
            worker.send(pickle.dumps(None))

    def _hear(self, worker: WorkerProcess) -> None:
        try:
            message: object = pickle.loads(worker.pipe.recv_bytes())  # our own worker's, over our own pipe
        except (EOFError, OSError):
            self._bury(worker)
            return
        if isinstance(message, Answer):
            self._take(worker, message)
        elif isinstance(message, Dropped):
            worker.forgetting = False
        elif isinstance(message, Ready):
            self._begin(worker)
        else:
            self.close()
            raise StudyError(f"a worker process cannot set up the study: {message}")

    def _begin(self, worker: WorkerProcess) -> None:
        worker.ready, worker.since, self._failed_starts = True, monotonic(), 0
        if worker.reserved is not None:
            self._waiting.appendleft(worker.reserved)
            worker.reserved = None
            self._give(worker, 1)

    def _take(self, worker: WorkerProcess, answer: Answer) -> None:
        self.printed_bytes += answer.printed_bytes
        worker.since = monotonic()
        if answer.evaluation is None:
            self._exceeded(worker, answer.megabytes)
            return
        if not worker.jobs:
            return  # it was taken back, and is run by somebody else
        worker.jobs.popleft()
        worker.answered += 1
        self._idle_deaths = 0
        self._seconds_per_job += 0.2 * (answer.seconds - self._seconds_per_job)
        self._deaths.pop(answer.ticket, None)
        self._overtimes.discard(answer.ticket)
        self._finished.append(Finished(answer.ticket, answer.evaluation))

    # ------------------------------------------------------------------ workers come and go

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self._setup, self._limits.memory_megabytes_max, self._hash_seed)
        self._selector.register(worker.pipe, selectors.EVENT_READ, worker)
        self._watch.add(worker.pid)
        return worker

    def _end(self, worker: WorkerProcess) -> None:
        self._selector.unregister(worker.pipe)
        self._watch.remove(worker.pid)
        worker.end()

    def _renew(self) -> None:
        """Replace all workers; what they had is given to the new ones."""
        self._selector.close()
        self._selector = selectors.DefaultSelector()
        old, self._workers = self._workers, []
        for worker in old:
            self._selector.register(worker.pipe, selectors.EVENT_READ, worker)
            self._end(worker)
            self._waiting.extendleft(reversed(worker.jobs))
            self._workers.append(self._start())

    def _replace(self, worker: WorkerProcess, cause: str) -> WorkerProcess:
        """End a worker and start another; what it had not begun goes to whoever is free."""
        self.replaced += 1
        logger.warning("worker replaced cause=%s", cause)
        place = self._workers.index(worker)
        del self._workers[place]
        self._end(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts > STARTS_MAX:
                self.close()
                raise StudyError(f"worker processes end before they are ready: {cause}.")
        self._waiting.extendleft(reversed(worker.jobs))
        fresh = self._start()
        fresh.reserved = worker.reserved
        self._workers.insert(place, fresh)
        return fresh

    def _check_time(self, worker: WorkerProcess, now: float) -> None:
        spent = now - worker.since
        if worker.idle or spent <= self._limits.wall_seconds_max or worker.pipe.poll():
            return  # what it has said, while the study was kept from listening, is heard first
        if not worker.ready:
            if spent > START_SECONDS_MAX:
                self._replace(worker, f"loading the target took longer than {spent:.0f} s of real time")
            return
        limit = f"{self._limits.wall_seconds_max:g} s of real time (run.wall_seconds)"
        if worker.jobs:
            self._exceeded_time(worker, limit)
        else:
            self._replace(worker, f"a run that was taken back took longer than {limit}")

    def _exceeded_time(self, worker: WorkerProcess, limit: str) -> None:
        """Try the job of a worker again, once; what takes too long twice is a verdict on the target."""
        ticket, job = worker.jobs[0]
        if ticket not in self._overtimes:
            self._overtimes.add(ticket)
            self._retry(worker, f"the run took longer than {limit}")
            return
        self._overtimes.discard(ticket)
        cause = f"the run took longer than {limit} in each of two fresh workers, which were killed"
        if job.policy is not None:  # nobody knows what it has chosen
            self._fail(worker, cause)
        elif job.schedule == EMPTY:
            self._fail(worker, f"{cause}. The target hangs without any fault: fix it, or raise run.wall_seconds")
        else:
            self._end_job(worker, hung_evaluation(job.schedule, cause), cause)

    def _bury(self, worker: WorkerProcess) -> None:
        """Find out what a worker died of, and what that means for its job."""
        megabytes = self._watch.remove(worker.pid)
        if megabytes is not None:
            self._exceeded(worker, megabytes)
            return
        cause = worker.cause_of_death()
        if not worker.jobs:
            self._replace_unblamed(worker, cause)
            return
        ticket = worker.jobs[0][0]
        self._deaths[ticket] += 1
        if self._deaths[ticket] >= DEATHS_MAX:
            self._fail(worker, f"{cause}, and so ended each of the {DEATHS_MAX} workers that were given the run")
        else:
            self._retry(worker, cause)

    def _exceeded(self, worker: WorkerProcess, megabytes: float) -> None:
        limit = f"more than {self._limits.memory_megabytes_max} (run.memory_megabytes)"
        cause = f"the worker process used {megabytes:.0f} MB of memory, {limit}"
        if worker.jobs and worker.answered:
            self._retry(worker, cause)
        elif worker.jobs:
            self._fail(worker, f"{cause}, and was killed")
        else:
            self._replace_unblamed(worker, cause)

    def _replace_unblamed(self, worker: WorkerProcess, cause: str) -> None:
        """Replace a worker that no job has ended; one that ends with nothing to do has ended by what it has loaded."""
        if worker.idle:
            self._idle_deaths += 1
            if self._idle_deaths > STARTS_MAX:
                self.close()
                raise StudyError(f"worker processes end while they have nothing to do: {cause}.")
        self._replace(worker, cause)

    def _retry(self, worker: WorkerProcess, cause: str) -> None:
        job = worker.jobs.popleft()
        self._replace(worker, cause).reserved = job

    def _fail(self, worker: WorkerProcess, cause: str) -> None:
        self._end_job(worker, failed_evaluation(worker.jobs[0][1].schedule, cause), cause)

    def _end_job(self, worker: WorkerProcess, told: Evaluation, cause: str) -> None:
        """Let the job of a worker come to this, and replace the worker."""
        ticket, _ = worker.jobs.popleft()
        self._deaths.pop(ticket, None)
        self._finished.append(Finished(ticket, told))
        self._replace(worker, cause)
