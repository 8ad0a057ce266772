"""How much of their processors worker processes and Ray put to use, on runs that burn the processor.

Efficiency is what the runs would take in this process, one after the other and shared among the workers, divided by
what they take in the pool. Starting the pool is not counted.

Run: python -m chaosagent.experiments.benchmarks.pools
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import statistics
from collections.abc import Callable, Sequence

from chaosagent.clock import monotonic
from chaosagent.execution.workers.executor import Executor, InlineExecutor
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.workbench import Job, Workbench, load_workbench
from chaosagent.experiments.benchmarks.measuring import machine
from chaosagent.faults.evaluation import Status
from chaosagent.faults.schedule import EMPTY

REFERENCE = "chaosagent.experiments.benchmarks.burning:burning"
JOBS = {"1 ms": 600, "50 ms": 40}


def setup() -> Callable[[], Workbench]:
    """Return what makes the workbench of a worker."""
    return functools.partial(load_workbench, REFERENCE, "default", ())


def seconds_of(executor: Executor, task: str, count: int) -> float:
    """Return the real seconds that some runs take.

    Raises:
        RuntimeError: A run failed.
    """
    begun = monotonic()
    for ticket in range(count):
        executor.submit(ticket, Job(task, 0, EMPTY))
    for _ in range(count):
        evaluation = executor.next_finished().evaluation
        if evaluation.status is not Status.OK:
            raise RuntimeError(evaluation.error)
    return monotonic() - begun


def pools(workers: Sequence[int], *, with_ray: bool) -> dict[str, tuple[int, Callable[[], Executor]]]:
    """Return the executors to compare, with their numbers of workers."""
    found: dict[str, tuple[int, Callable[[], Executor]]] = {}
    for count in workers:
        found[f"process, {count} workers"] = (count, functools.partial(ProcessExecutor, setup(), workers=count))
    if with_ray:
        from chaosagent.execution.workers.ray_pool import RayExecutor

        for count in workers:
            found[f"ray, {count} workers"] = (count, functools.partial(RayExecutor, setup(), workers=count))
    return found


def compare(executor: Executor, workers: int, task: str, *, count: int, rounds: int) -> str:
    """Return a line on one pool: real time per run, and efficiency as the median of rounds."""
    inline = InlineExecutor(setup()())
    seconds_of(executor, task, max(2, count // 10)), seconds_of(inline, task, 2)
    shares, per_run = [], []
    for _ in range(rounds):
        alone = seconds_of(inline, task, count)
        together = seconds_of(executor, task, count)
        shares.append(alone / workers / together)
        per_run.append(together / count)
    return f"{statistics.median(per_run) * 1e3:8.2f} ms a run, efficiency {statistics.median(shares):.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--jobs", type=float, default=1.0, help="share of the usual number")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-ray", action="store_true")
    options = parser.parse_args(arguments)
    with_ray = not options.no_ray and importlib.util.find_spec("ray") is not None
    print(machine())
    for name, (workers, make) in pools(options.workers, with_ray=with_ray).items():
        executor = make()
        try:
            for task, usual in JOBS.items():
                count = max(2, round(usual * options.jobs))
                line = compare(executor, workers, task, count=count, rounds=options.rounds)
                print(f"{name:20} {task:6} {line}")
        finally:
            executor.close()


if __name__ == "__main__":
    main()
