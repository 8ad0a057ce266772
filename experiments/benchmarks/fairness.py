"""How soon a study knows a counterexample of each of its searches, in executions over all of them."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from chaosagent.errors import ChaosAgentError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.measuring import machine
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.studyfile import load_study
from chaosagent.studyfile.file import Overrides
from chaosagent.studyfile.plan import plan_of
from chaosagent.vocabulary import Severity

Place: TypeAlias = str
"""A search: task, seed and contract in one string, as JSON has no other keys."""


class Watch(Sink):
    """Notes after how many executions each search had its first runs and its first violation within the budget."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._contracts = [one.id for one in plan.contracts if one.severity is Severity.HARD]
        self.executions = 0
        self.found: dict[Place, int] = {}
        self.least: dict[Place, tuple[float, int]] = {}
        self.begun: dict[Place, int] = {}

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        self.executions += 1
        cost = evaluation.effective.declared_cost(self._plan.space.model)
        if evaluation.effective == EMPTY or cost > self._plan.budget + COST_TOLERANCE:
            return
        for contract in self._contracts:
            place = _place(at, contract)
            if violates(evaluation, contract):
                self.found.setdefault(place, self.executions)
                if cost < self.least.get(place, (float("inf"), 0))[0] - COST_TOLERANCE:
                    self.least[place] = (cost, self.executions)

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        if trial.schedule != EMPTY:
            self.begun.setdefault(_place(at, contract), self.executions)


def _place(at: TaskSeed, contract: str) -> Place:
    return f"{at.task_id} {at.seed} {contract}"


@dataclass(frozen=True, slots=True)
class Course:
    """How a study went.

    Attributes:
        executions: In all.
        begun: Executions until a search had told its first faulty trial.
        found: Executions until a search had its first violation within the budget.
        cheapest: Executions until it had the cheapest that the study has seen.
        searches: How many there are.
    """

    executions: int
    begun: dict[Place, int]
    found: dict[Place, int]
    cheapest: dict[Place, int]
    searches: int

    def area(self, among: Sequence[Place], horizon: int) -> float:
        """Return the area under "share of some searches with a known violation over executions", from 0 to 1."""
        known = (max(0, horizon - self.found[place]) for place in among if place in self.found)
        return sum(known) / (horizon * len(among)) if among and horizon else 0.0


def course_of(plan: Plan) -> Course:
    """Return how a study goes in this process."""
    watch = Watch(plan)
    with contextlib.closing(InlineExecutor(plan.workbench())) as executor:
        Study(plan, executor, sinks=[watch]).run()
    cheapest = {place: at for place, (_, at) in watch.least.items()}
    hard = sum(contract.severity is Severity.HARD for contract in plan.contracts)
    return Course(watch.executions, watch.begun, watch.found, cheapest, len(plan.tasks) * len(plan.seeds) * hard)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search and print.

    Returns:
        0; 2 or 4 for an error.
    """
    options = _parser().parse_args(arguments)
    print(machine())
    saved: dict[str, dict[str, object]] = {}
    earlier = json.loads(options.against.read_text("utf-8")) if options.against else {}
    try:
        for path in options.study:
            plan = plan_of(load_study(path, Overrides(trials=options.trials)))
            plan = replace(plan, seeds=tuple(range(options.seeds)), searcher=options.searcher, searcher_settings={})
            with tempfile.TemporaryDirectory() as folder:
                course = course_of(replace(plan, answers=Path(folder) / "answers.db"))
            saved[str(path)] = {name: getattr(course, name) for name in Course.__slots__}
            before = Course(**earlier[str(path)]) if str(path) in earlier else None
            print(f"{path}:", *_lines(course, before), sep="\n  ", flush=True)
    except ChaosAgentError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if options.save:
        options.save.write_text(json.dumps(saved), "utf-8")
    return 0


def _lines(course: Course, before: Course | None) -> list[str]:
    among = sorted({*course.found, *(before.found if before else ())})
    horizon = max(course.executions, before.executions if before else 0)
    slowest = max(course.begun.values(), default=0)
    lines = [
        f"{course.executions} executions, {course.searches} searches, {len(course.found)} of them with a violation",
        f"all {len(course.begun)} searches that have faulty trials had one after {slowest} executions",
        f"area {course.area(among, horizon):.3f} over {horizon} executions",
    ]
    if before is not None:
        both = sum(place in course.found and place in before.found for place in among)
        begun = max(before.begun.values(), default=0)
        now, then = len(course.found) - both, len(before.found) - both
        lines += [
            f"before: {before.executions} executions, begun after {begun}, area {before.area(among, horizon):.3f}",
            f"with a violation in both: {both}; only now: {now}; only before: {then}",
        ]
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaosagent.experiments.benchmarks.fairness",
        description="Run studies in this process, and print after how many executions their searches had begun and "
        "knew a violation: the area under the share that did, over executions.",
    )
    parser.add_argument("study", type=Path, nargs="+", metavar="STUDY.yaml", help="a study file")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each task; 1 when left out")
    parser.add_argument("--trials", type=int, default=2000, help="most trials of a search; 2000 when left out")
    parser.add_argument("--searcher", default="anytime", help="anytime when left out")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write what was measured, for --against")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with what another version has saved")
    return parser


if __name__ == "__main__":
    sys.exit(main())
