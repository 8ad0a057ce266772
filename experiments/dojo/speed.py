"""How much processor time AgentDojo takes to load, and its tasks to run.

Usage: `python experiments/dojo/speed.py [banking] [slack] ... [--tasks]`.
"""

from __future__ import annotations

import statistics
import sys
from typing import NamedTuple

from chaosagent.clock import cpu
from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.dojo.suite import SUITES, Suite
from chaosagent.experiments.dojo.target import target_of
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Target

REPEATS = 15


class Timing(NamedTuple):
    """One task.

    Attributes:
        task: Its id.
        crossings: Of its run without faults, the model's among them.
        microseconds: Of one run with the default contracts, median.
    """

    task: str
    crossings: int
    microseconds: float


def timings(target: Target) -> list[Timing]:
    """Run every task of a target some times, without faults, in its first configuration."""
    found = []
    for task in target.tasks.values():
        config = next(iter(target.configs.values()))
        experiment = Experiment(target, task, config, 0, default_contracts()).with_nominal()
        crossings = len(execute(experiment, EMPTY).trace.steps)
        seconds = []
        for _ in range(REPEATS):
            started = cpu()
            execute(experiment, EMPTY)
            seconds.append(cpu() - started)
        found.append(Timing(task.id, crossings, statistics.median(seconds) * 1e6))
    return found


def main(arguments: list[str]) -> None:
    """Print one line for each suite, and with `--tasks` one for each task."""
    print("| suite | load, s | tasks | crossings: least, median, most | µs per run: the same | µs per crossing |")
    print("| --- | --- | --- | --- | --- | --- |")
    details = []
    for name in [argument for argument in arguments if argument != "--tasks"] or SUITES:
        started = cpu()
        target = target_of(Suite(name))
        loaded = cpu() - started
        found = timings(target)
        details += [f"{name:10} {one.task:13} {one.crossings:3} {one.microseconds:6.0f}" for one in found]
        crossings, took = [one.crossings for one in found], [one.microseconds for one in found]
        each = sum(took) / sum(crossings)
        print(f"| {name} | {loaded:.2f} | {len(found)} | {_three(crossings)} | {_three(took)} | {each:.0f} |")
    if "--tasks" in arguments:
        print("\n".join(details))


def _three(values: list[int] | list[float]) -> str:
    return f"{min(values):.0f}, {statistics.median(values):.0f}, {max(values):.0f}"


if __name__ == "__main__":
    main(sys.argv[1:])
