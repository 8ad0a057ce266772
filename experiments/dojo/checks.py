"""How much of a search goes into AgentDojo's own checks: asked in every run, once for each end, and as they are asked.

Usage: `python experiments/dojo/checks.py experiments/dojo/misuse-workspace.yaml obedient user_task_16 user_task_20`.
The tasks can be left out. Every row does the same runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from chaosagent.clock import cpu
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.experiments.dojo.environment import Start
from chaosagent.experiments.dojo.judge import End, Judge
from chaosagent.experiments.dojo.suite import Suite
from chaosagent.experiments.dojo.target import target_of
from chaosagent.study.loop.study import Study
from chaosagent.studyfile import Overrides, load_study, plan_of


class Share(NamedTuple):
    """What the checks of one search took.

    Attributes:
        executions: Runs of the search.
        asked: How often a check was really asked.
        seconds: Of the processor, for the search.
        in_checks: Those of them in which ends were judged.
    """

    executions: int
    asked: int
    seconds: float
    in_checks: float


@dataclass(slots=True)
class TimedJudge(Judge):
    """A judge with a watch.

    Attributes:
        forgets: Whether it asks again for an end that it has judged before.
        separates: Whether the checks get environments that share nothing.
        seconds: What judging has taken.
    """

    forgets: bool = False
    separates: bool = False
    seconds: float = 0.0

    def judgement(
        self, task: Any, start: Start, end: End, from_calls: Callable[..., Any], from_states: Callable[..., Any]
    ) -> bool:
        """Judge, and look at the watch."""
        begun = cpu()
        if self.forgets:
            self.kept.clear()
        judged = Judge.judgement(self, task, start, end, from_calls, from_states)
        self.seconds += cpu() - begun
        return judged

    def together(self, start: Start, end: End) -> tuple[Any, Any]:
        """Return the two environments that a check is given."""
        return (start.copy(), end.environment.copy()) if self.separates else Judge.together(self, start, end)


def measured(path: Path, config: str, tasks: tuple[str, ...], judge: TimedJudge) -> Share:
    """Search a study with a judge of one's own."""
    plan = plan_of(load_study(path, Overrides(config=config, tasks=tasks or None)))
    suite = Suite(plan.target.name.removeprefix("dojo-"))
    suite.judge = judge
    plan = replace(plan, target=target_of(suite), searcher="exact")
    begun = cpu()
    result = Study(plan, InlineExecutor(Workbench(plan.target, plan.config, plan.contracts, plan.run_limits))).run()
    return Share(result.executions, judge.checked, cpu() - begun, judge.seconds)


def main(arguments: list[str]) -> None:
    """Print one row for each way of asking."""
    path, config, tasks = Path(arguments[0]), arguments[1], tuple(arguments[2:])
    print(f"| {path.stem}, {config} | executions | checks asked | search, s | in checks, s | share |")
    print("| --- | --- | --- | --- | --- | --- |")
    ways = {
        "asked in every run": TimedJudge(forgets=True, separates=True),
        "asked once for each end": TimedJudge(separates=True),
        "and what is equal is one object": TimedJudge(),
    }
    for way, judge in ways.items():
        found = measured(path, config, tasks, judge)
        share = found.in_checks / found.seconds
        spent = f"{found.seconds:.1f} | {found.in_checks:.1f} | {share:.0%}"
        print(f"| {way} | {found.executions} | {found.asked} | {spent} |")


if __name__ == "__main__":
    main(sys.argv[1:])
