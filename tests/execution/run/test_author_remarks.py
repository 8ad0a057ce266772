"""Mistakes of a target that a run without injections shows, and that no trace has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chaosagent import Outcome, Run, Task, target
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.run.author_remarks import noted_origins
from chaosagent.faults.schedule import EMPTY

DONE = Outcome("done", success=True)


async def later() -> None:
    await asyncio.sleep(60)


async def begin() -> asyncio.Task[None]:
    return asyncio.create_task(later())


async def one_task() -> Outcome:
    await begin()
    return DONE


async def five_tasks() -> Outcome:
    for _ in range(5):
        await begin()
    return DONE


async def all_is_well() -> Outcome:
    (await begin()).cancel()
    await asyncio.create_task(asyncio.sleep(1))
    return DONE


MADE = "later, created at test_author_remarks.py:24 in begin"
ENDED = "still running when the target returned, and ended there"
REMEDY = "Await or cancel such tasks in the target, unless they do nothing that matters."
CASES: list[tuple[Callable[[], Awaitable[Any]], list[str]]] = [
    (one_task, [f"a task was {ENDED}: {MADE}. {REMEDY}"]),
    (five_tasks, [f"5 tasks were {ENDED}: {MADE}, {MADE}, {MADE} and 2 more. {REMEDY}"]),
    (all_is_well, []),
]


@pytest.mark.parametrize(("body", "remarks"), CASES)
def test_a_run_without_injections_remarks_on_mistakes_of_the_target(
    body: Callable[[], Awaitable[Any]], remarks: list[str]
) -> None:
    @target(tasks=[Task("a")])
    async def agent(task: Task, run: Run) -> Any:  # noqa: ARG001  # it crosses nothing
        return await body()

    with noted_origins():
        execution = execute(Experiment(agent, agent.task("a"), agent.config("default"), 0), EMPTY)

    assert list(execution.remarks) == remarks
