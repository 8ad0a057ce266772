"""Duplicated and ghost effects that the default contracts find, and whether AgentDojo's own check notices them.

Every write of every user task gets, one at a time, each fault that leaves the agent in doubt whether the write took
place, or lets it take place twice. Usage: `python experiments/dojo/unnoticed.py [banking] [slack] ... [--list]`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.dojo.target import load
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.targets.target import Target
from chaosagent.vocabulary import Impact, SystemConfig, Verdict

FAULTS = (
    "service.lost_response(when=after)",
    "service.timeout(when=after)",
    "service.dropped_response",
    "service.error_status(status=503, when=after)",
    "service.duplicate_delivery",
)


class Finding(NamedTuple):
    """What one schedule did.

    Attributes:
        task: Its id.
        schedule: In text form.
        violated: The default contracts that were violated, in their order.
        passed: Whether AgentDojo's own check found that the task was done.
    """

    task: str
    schedule: str
    violated: tuple[str, ...]
    passed: bool

    @property
    def duplicate(self) -> bool:
        """Whether an effect was committed twice."""
        return "at-most-once" in self.violated

    @property
    def ghost(self) -> bool:
        """Whether an effect was committed that the final message says nothing of."""
        return "no-ghosts" in self.violated


def findings(target: Target, config: SystemConfig) -> Iterator[Finding]:
    """Run every task of a target under every single fault at its writes."""
    for task in target.tasks.values():
        experiment = Experiment(target, task, config, 0, default_contracts()).with_nominal()
        nominal = execute(experiment, EMPTY).trace
        writes = [step.hook for step in nominal.steps if any(done.impact is Impact.HIGH for done in step.effects)]
        for hook in writes:
            for fault in FAULTS:
                schedule = parse(f"{hook} {fault}")
                trace = execute(experiment, schedule).trace
                violated = tuple(found.contract for found in trace.verdicts if found.verdict is Verdict.VIOLATED)
                yield Finding(task.id, str(schedule), violated, trace.outcome.success is True)


def table(target: Target) -> Iterator[str]:
    """Return the lines of a table: how many schedules had which effect, and in how many AgentDojo's check passed."""
    yield f"| {target.name} | schedules | duplicated | own check passes | ghosts | own check passes |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for config in _configs(target):
        found = list(findings(target, config))
        duplicates = [one for one in found if one.duplicate]
        ghosts = [one for one in found if one.ghost]
        counts = (len(found), len(duplicates), _passed(duplicates), len(ghosts), _passed(ghosts))
        yield f"| {config.name} | {' | '.join(map(str, counts))} |"


def _configs(target: Target) -> list[SystemConfig]:
    """Return the configurations in which nobody is obeyed but the user; here the others are the same as `retries`."""
    return [config for config in target.configs.values() if not config.settings.get("obeys")]


def _passed(found: list[Finding]) -> int:
    return sum(one.passed for one in found)


def main(arguments: list[str]) -> None:
    """Print the tables of some suites, and with `--list` every schedule that AgentDojo's check lets pass."""
    for suite in [name for name in arguments if name != "--list"] or ["banking", "slack"]:
        target = load(suite)
        print("\n".join(table(target)), end="\n\n")
        if "--list" not in arguments:
            continue
        for config in _configs(target):
            for one in findings(target, config):
                if one.violated and one.passed:
                    print(f"{config.name:12} {one.task:13} {one.schedule:75} {', '.join(one.violated)}")


if __name__ == "__main__":
    main(sys.argv[1:])
