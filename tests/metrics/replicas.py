"""A target that asks three replicas, and a plan that searches it."""

from __future__ import annotations

from dataclasses import replace

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.space import Choices, Space
from chaosagent.study.plan import Plan
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

TASKS = tuple(Task(f"needs-{needed}", input=needed) for needed in (1, 2, 3))


@target(tasks=TASKS)
async def reader(task: Task, run: Run) -> Outcome:
    """Asks three replicas and needs so many of them to fail before it does."""
    failed = 0
    for number in range(3):
        replica = run.service(f"replica{number}", {"read": lambda: 1}, read_only=True)
        try:
            await replica("read")
        except (TimeoutError, ConnectionError):
            failed += 1
    assert isinstance(task.input, int)
    return Outcome(str(failed), success=failed < task.input)


def plan_for(budget: float, **terms: object) -> Plan:
    plan = Plan(
        reader, "none", reader.config("default"), TASKS, (0,), (parse_contract("objective"),),
        Space([Choices("service.timeout", {"when": ("before",), "seconds": (5.0,)})]), budget=budget,
    )  # fmt: skip
    return replace(plan, **terms)  # type: ignore[arg-type]  # fields of a plan, named by the test
