"""Which user tasks the agent that reads does without faults, and how long they are.

Usage: `python experiments/dojo/closed_loop/solved.py [banking] [slack] ... [--tasks]`.
"""

from __future__ import annotations

import statistics
import sys
from typing import NamedTuple

from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.dojo.closed_loop.target import target_of
from chaosagent.experiments.dojo.suite import SUITES, Suite
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Target
from chaosagent.vocabulary import SystemConfig

LONG = 15


class Done(NamedTuple):
    """One run without faults.

    Attributes:
        task: Its id.
        passed: Whether AgentDojo's own check finds that the task was done.
        calls: Of tools.
        tools: That were called.
        steps: Of the trace: the model's, the tools', and those of others' texts.
    """

    task: str
    passed: bool
    calls: int
    tools: frozenset[str]
    steps: int


def runs(target: Target, config: SystemConfig) -> list[Done]:
    """Run every task of a target once, without faults."""
    found = []
    for task in target.tasks.values():
        experiment = Experiment(target, task, config, 0, default_contracts()).with_nominal()
        trace = execute(experiment, EMPTY).trace
        called = [step.interface for step in trace.steps if step.interface.startswith("service:")]
        found.append(Done(task.id, trace.outcome.success is True, len(called), frozenset(called), len(trace.steps)))
    return found


def main(arguments: list[str]) -> None:
    """Print one line for each suite and configuration, and with `--tasks` one for each task."""
    print(
        "| suite | tools: had, called | configuration | tasks done | calls: least, median, most | of 15 or more "
        "| steps: least, median, most |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    details = []
    for name in [argument for argument in arguments if argument != "--tasks"] or SUITES:
        suite = Suite(name)
        target = target_of(suite)
        for config in target.configs.values():
            found = runs(target, config)
            details += [
                f"{name:10} {config.name:12} {one.task:13} {one.calls:3} {'done' if one.passed else 'not done'}"
                for one in found
            ]
            called = frozenset[str]().union(*(one.tools for one in found))
            long = sum(one.calls >= LONG for one in found)
            done = f"{sum(one.passed for one in found)} of {len(found)}"
            print(
                f"| {name} | {len(suite.tools)}, {len(called)} | {config.name} | {done} "
                f"| {_three([one.calls for one in found])} | {long} | {_three([one.steps for one in found])} |"
            )
    if "--tasks" in arguments:
        print("\n".join(details))


def _three(values: list[int]) -> str:
    return f"{min(values)}, {statistics.median(values):g}, {max(values)}"


if __name__ == "__main__":
    main(sys.argv[1:])
