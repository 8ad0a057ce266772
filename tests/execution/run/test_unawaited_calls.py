"""A call whose `await` was forgotten is told, not passed over."""

from __future__ import annotations

import asyncio

import pytest

from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Ending, Outcome, Task


def play(found: Target) -> Ending:
    return execute(Experiment(found, found.task("default"), found.config("default"), 0), EMPTY).trace.ending


def test_a_door_that_is_called_without_await_is_named() -> None:
    @target
    async def forgetful(task: Task, run: Run) -> Outcome:
        del task
        orders = run.service("orders", {"get": lambda: 1})
        payments = run.service("payments", {"refund": lambda n: n}, effects={"refund": effect("n")})
        await orders("get")
        payments("refund", n=1)
        return Outcome("done", success=True)

    with pytest.raises(TargetError, match=r"service:payments refund was called and never awaited.*Write `await`"):
        play(forgetful)


def test_a_call_whose_task_had_not_begun_when_the_target_returned_is_one() -> None:
    @target
    async def leaving(task: Task, run: Run) -> Outcome:
        del task
        kept = asyncio.create_task(run.service("payments", {"refund": lambda: 1})("refund"))
        return Outcome(f"Your money is on its way: {kept.done()}.")

    with pytest.raises(TargetError, match=r"service:payments refund was handed to a task.*Await the task before"):
        play(leaving)


def test_a_call_whose_task_was_cancelled_before_it_began_is_no_mistake() -> None:
    @target
    async def hasty(task: Task, run: Run) -> Outcome:
        del task
        orders = run.service("orders", {"get": lambda: 1})
        asyncio.ensure_future(orders("get")).cancel()
        await orders("get")
        return Outcome("done", success=True)

    assert play(hasty) is Ending.FINISHED


def test_a_crash_is_told_before_a_forgotten_await() -> None:
    @target
    async def broken(task: Task, run: Run) -> Outcome:
        del task
        run.service("orders", {"get": lambda: 1})("get")
        raise ValueError("broken")

    assert play(broken) is Ending.CRASHED
