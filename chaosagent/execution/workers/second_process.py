"""Second processes with another hash seed, in which sets and hashes are ordered differently."""

from __future__ import annotations

import contextlib
import enum
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from chaosagent.execution.workers.executor import Executor
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.execution.workers.worker_process import HASH_SEED
from chaosagent.faults.evaluation import Evaluation
from chaosagent.limits import RunLimits

HASH_SEEDS = 8
"""Processes, each with another hash seed, in which runs are repeated."""

ROUNDS = 3
"""So many repeats of a run in one process are to be equal before the process is held responsible for what it does."""


class Variation(enum.IntEnum):
    """Which repeats of one run differ, each made where nothing was run before.

    `NONE`: none do. `HASH_SEED`: those with other hash seeds. `PROCESS`: also those in two processes with one hash
    seed. `RUN`: also those in one process.
    """

    NONE = 0
    HASH_SEED = 1
    PROCESS = 2
    RUN = 3


def distinguishing_repeats(first: int, hash_seeds: int) -> list[int]:
    """Return the numbers of processes for repeats that tell how a run varies; see `variation_of`.

    Args:
        first: Where it was seen to differ.
        hash_seeds: So many processes have hash seeds of their own.
    """
    twins = [HASH_SEEDS + seed for seed in dict.fromkeys((first, (first + 1) % hash_seeds))]
    return [*range(hash_seeds)] * ROUNDS + twins * (ROUNDS - 1)


def variation_of(repeats: Iterable[tuple[int, str]]) -> Variation:
    """Return how a run varies.

    Args:
        repeats: The number of the process and the digest of each repeat.
    """
    by_process: dict[int, set[str]] = defaultdict(set)
    by_seed: dict[int, set[str]] = defaultdict(set)
    for number, digest in repeats:
        by_process[number].add(digest)
        by_seed[number % HASH_SEEDS].add(digest)
    if any(len(digests) > 1 for digests in by_process.values()):
        return Variation.RUN
    if any(len(digests) > 1 for digests in by_seed.values()):
        return Variation.PROCESS
    return Variation.HASH_SEED if len(set().union(*by_seed.values())) > 1 else Variation.NONE


def open_second_process(
    setup: Callable[[], Workbench],
    number: int = 0,
    *,
    limits: RunLimits | None = None,
    environment: Mapping[str, str] | None = None,
) -> ProcessExecutor:
    """Start one worker process with another hash seed than this process has.

    Args:
        setup: Makes the worker's workbench; pickled, so a function of a module with plain arguments.
        number: Each has another hash seed.
        limits: Of one job: its real time, and the memory of the worker.
        environment: Of the process: that of before any run, as these may change it; today's by default.

    Raises:
        StudyError: The worker cannot be started.
    """
    ours = os.environ.get(HASH_SEED)
    others = [seed for seed in map(str, range(number + 2)) if seed != ours]  # one that was drawn nobody knows
    with contextlib.nullcontext() if environment is None else _environment(environment):
        return ProcessExecutor(setup, workers=1, limits=limits, hash_seed=others[number])


class ColdProcesses:
    """Processes with different hash seeds that load the target and run nothing themselves: runs are forked from them.

    Each is started when it is needed first, and kept until `close`. From `HASH_SEEDS` on, the numbers belong to further
    processes with the same hash seeds: addresses of objects differ there, and the order of texts in a set does not.

    Args:
        open_process: Starts the process of a number, as `open_second_process` does.
    """

    def __init__(self, open_process: Callable[[int], Executor]) -> None:
        self._open_process = open_process
        self._processes: dict[int, Executor] = {}

    def run(
        self,
        jobs: Sequence[tuple[int, Job]],
        on_progress: Callable[[int, int], object] = lambda made, total: None,  # noqa: ARG005
    ) -> list[Evaluation]:
        """Make runs in all processes at a time, and return what they did, in the order of the jobs.

        Args:
            jobs: Each with the number of its process; each run has a process of its own.
            on_progress: Called before the runs and after each, with how many of how many were made.

        Raises:
            StudyError: A process cannot be started.
        """
        for ticket, (number, job) in enumerate(jobs):
            if number not in self._processes:
                self._processes[number] = self._open_process(number % HASH_SEEDS)
            self._processes[number].submit(ticket, job._replace(alone=True))
        made: dict[int, Evaluation] = {}
        for number, _ in jobs:
            on_progress(len(made), len(jobs))
            finished = self._processes[number].next_finished()
            made[finished.ticket] = finished.evaluation
        on_progress(len(made), len(jobs))
        return [made[ticket] for ticket in range(len(jobs))]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Give the processes that are started meanwhile this environment."""
    before = dict(os.environ)
    _set_environment(wanted)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)
