"""How well one search alone fills many workers whose runs take long: with speculation, without, and with a wide window.

Useful work is what the runs that the search asked for take, divided by the real time of all workers. Starting the
workers is not counted.

Run: python -m chaosagent.experiments.benchmarks.one_search
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chaosagent.clock import monotonic
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.workbench import load_workbench
from chaosagent.experiments.benchmarks.measuring import machine
from chaosagent.experiments.benchmarks.scripted import remembering, six_crossings
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

SECONDS = 0.05
CONTRACT = "at-most-once"
SPACE = Space(
    [
        Choices("service.lost_response", {"when": ("before", "after")}),
        Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)}),
        Choices("service.timeout", {"when": ("before", "after")}),
    ]
)


@target(name="slow", tasks=[Task("only")])
async def slow(task: Task, run: Run) -> Outcome:
    """Do what the scripted target does, and take real time."""
    threading.Event().wait(SECONDS)
    return await _outcome(six_crossings.run(task, run))


@target(name="slow-remembering", tasks=[Task("only")])
async def slow_remembering(task: Task, run: Run) -> Outcome:
    """The same, with checkpoints."""
    threading.Event().wait(SECONDS)
    return await _outcome(remembering.run(task, run))


async def _outcome(made: Any) -> Outcome:
    outcome: Outcome = await made
    return outcome


TARGETS = {"slow": slow, "slow_remembering": slow_remembering}


class FirstRun(Sink):
    """Notes when the first faulty run had ended: from then on all workers could work."""

    def __init__(self) -> None:
        self.begun: float | None = None

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del at
        if evaluation.schedule != EMPTY and self.begun is None:
            self.begun = monotonic()


def measure(name: str, searcher: str, workers: int, trials: int, *, lookahead: int, speculate: bool) -> str:
    """Return a line on one search."""
    system = TARGETS[name]
    plan = Plan(
        target=system,
        target_reference=system.name,
        config=next(iter(system.configs.values())),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=(parse_contract(CONTRACT),),
        space=SPACE,
        budget=3.3,
        searcher=searcher,
        limits=StudyLimits(trials_max=trials),
        audit=0,
    )
    plan = replace(plan, lookahead=lookahead, speculate=speculate)
    setup = functools.partial(load_workbench, f"{__spec__.name}:{name}", plan.config.name, (CONTRACT,))
    first = FirstRun()
    with contextlib.closing(ProcessExecutor(setup, workers=workers)) as executor:
        result = Study(plan, executor, sinks=[first]).run()
        seconds = monotonic() - (first.begun or 0.0)
    useful = SECONDS * result.executions / (seconds * workers)
    return (
        f"{name:17} {searcher:8} window {lookahead:2}{', speculation' if speculate else '':13} "
        f"{result.executions:5} asked, {result.unasked:4} made and not asked, {seconds:5.1f} s, useful {useful:.2f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--trials", type=int, default=800)
    options = parser.parse_args(arguments)
    print(f"{machine()}; {options.workers} workers, runs of {SECONDS * 1e3:g} ms", flush=True)
    for name in TARGETS:
        for searcher in ("exact", "anytime"):
            for lookahead, speculate in ((1, False), (1, True), (16, False)):
                line = measure(
                    name, searcher, options.workers, options.trials, lookahead=lookahead, speculate=speculate
                )
                print(line, flush=True)


if __name__ == "__main__":
    main()
