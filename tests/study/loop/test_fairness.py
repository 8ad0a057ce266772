"""All searches of a study go on side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.shares import FLOOR
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

CALLS = {"small": 1, "middling": 3, "large": 8}
SEEDS = (0, 1)
LOST = Choices("service.lost_response", {"when": ("before", "after")})
ERROR = Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)})


@target(name="desk", tasks=[Task(name) for name in CALLS], configs=[SystemConfig("default")])
async def desk(task: Task, run: Run) -> Outcome:
    bank = run.service("bank", {"look": lambda number: number, "pay": lambda: 1}, effects={"pay": effect()})
    for number in range(CALLS[task.id]):
        try:
            await bank("look", number=number)
        except ConnectionError:
            await bank("look", number=number)
    await bank("pay")
    return Outcome("paid", success=True)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(
        target=desk,
        target_reference=desk.name,
        config=desk.config("default"),
        tasks=tuple(desk.tasks.values()),
        seeds=SEEDS,
        contracts=default_contracts(),
        space=Space([LOST, ERROR]),
        budget=3.3,
        limits=StudyLimits(trials_max=150),
    )


class Course(Sink):
    """Notes when each search had its first faulty trial, and whose runs were made, in their order."""

    def __init__(self) -> None:
        self.executions = 0
        self.begun: dict[tuple[TaskSeed, str], int] = {}
        self.order: list[TaskSeed] = []

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del evaluation
        self.executions += 1
        self.order.append(at)

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        if trial.schedule != EMPTY:
            self.begun.setdefault((at, contract), self.executions)


def run(plan: Plan, *sinks: Sink) -> StudyResult:
    return Study(plan, InlineExecutor(plan.workbench()), sinks=sinks).run()


def test_soon_every_search_has_its_first_faulty_trial(plan: Plan) -> None:
    course = Course()

    result = run(plan, course)

    assert len(course.begun) == len(result.searches)
    assert max(course.begun.values()) <= 2 * len(result.searches)


def test_while_none_is_over_no_task_gets_less_than_its_floor(plan: Plan) -> None:
    course = Course()

    run(plan, course)

    last = {at: place for place, at in enumerate(course.order)}
    while_all_are_open = Counter(course.order[: min(last.values()) + 1])
    fair = sum(while_all_are_open.values()) / len(last)
    assert len(while_all_are_open) == len(SEEDS) * len(CALLS)
    assert min(while_all_are_open.values()) >= FLOOR * fair


def test_a_limit_of_time_leaves_something_proved_of_every_task(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(10**9))
    for module in ("study", "deadline"):
        monkeypatch.setattr(f"chaosagent.study.loop.{module}.monotonic", lambda: float(next(now)))

    result = run(replace(plan, limits=StudyLimits(trials_max=10_000, seconds_max=4_000.0)))

    assert any(search.certificate.limit_reached for search in result.searches)
    assert all(search.certificate.lower_bound >= 1.0 for search in result.searches)


@pytest.fixture(scope="module")
def found_together(plan: Plan) -> dict[object, object]:
    """Return what a study of all tasks finds."""
    return found_in(run(plan))


def found_in(result: StudyResult) -> dict[object, object]:
    return {
        (one.task_id, one.seed, one.contract): (one.trials, str(one.certificate), [c.id for c in one.counterexamples])
        for one in result.searches
    }


@pytest.mark.parametrize("tasks", [("small",), ("large",), ("small", "large")])
def test_what_is_found_of_a_task_does_not_depend_on_what_is_searched_beside_it(
    plan: Plan, found_together: dict[object, object], tasks: Sequence[str]
) -> None:
    alone = found_in(run(replace(plan, tasks=tuple(task for task in plan.tasks if task.id in tasks))))

    assert alone.items() <= found_together.items()
