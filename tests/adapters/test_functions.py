"""Tools that are functions cross doors, and stay what they were for the agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.adapters.functions import through_doors
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task


def get_order(order: int, *, fresh: bool = False) -> dict[str, Any]:
    """Read an order."""
    return {"order": order, "fresh": fresh}


async def refund(order: int, *notes: str, **extra: str) -> str:
    """Pay a customer back."""
    return f"paid {order} {' '.join(notes)} {extra}"


def _executed(system: Target, delta: Schedule = EMPTY) -> Execution:
    return execute(Experiment(system, system.task("default"), SystemConfig(), seed=1), delta)


def _agent(use: Callable[..., Any]) -> Target:
    @target
    async def agent(_: Task, run: Run) -> Outcome:
        tools = through_doors(run, [get_order, refund], effects={"refund": effect("order")}, read_only=["get_order"])
        return Outcome(str(await use(*tools)), success=True)

    return agent


async def _both(read: Callable[..., Any], pay: Callable[..., Any]) -> str:
    order = await read(7, fresh=True)
    return f"{order} {await pay(7, 'late', why='rain')}"


def test_calls_become_steps_and_effects() -> None:
    trace = _executed(_agent(_both)).trace

    assert trace.outcome.message == "{'fresh': True, 'order': 7} paid 7 late {'why': 'rain'}"
    assert [step.interface for step in trace.steps] == ["service:get_order", "service:refund"]
    assert [(effect.kind, effect.identity) for effect in trace.effects] == [("refund.call", {"order": 7})]


def test_a_fault_is_raised_where_the_tool_would_have_failed() -> None:
    async def careful(read: Callable[..., Any], pay: Callable[..., Any]) -> str:
        del pay
        try:
            return str(await read(7))
        except TimeoutError:
            return "no order"

    trace = _executed(_agent(careful), parse("service:get_order[1] timeout")).trace

    assert trace.outcome.message == "no order"


def test_the_agent_sees_the_same_tools() -> None:
    async def looking(read: Callable[..., Any], pay: Callable[..., Any]) -> str:
        return f"{read.__name__} {inspect.signature(read)} {pay.__doc__}"

    told = _executed(_agent(looking)).trace.outcome.message

    assert told == f"get_order {inspect.signature(get_order)} Pay a customer back."


def test_an_asynchronous_function_is_still_known_as_one() -> None:
    async def looking(read: Callable[..., Any], pay: Callable[..., Any]) -> str:
        return f"{inspect.iscoroutinefunction(read)} {inspect.iscoroutinefunction(pay)}"

    assert _executed(_agent(looking)).trace.outcome.message == "False True"


def test_arguments_called_like_parameters_reach_the_function() -> None:
    def note(order: int, /, *lines: str, **extra: Any) -> str:
        return f"{order} {lines} {sorted(extra.items())}"

    @target
    async def agent(_: Task, run: Run) -> Outcome:
        (written,) = through_doors(run, [note])
        told = [
            await written(1, "a", why="b"),
            await written(1, order=2),
            await written(1, "a", lines="b", extra={"c": 3}),
        ]
        return Outcome("; ".join(told), success=True)

    assert _executed(agent).trace.outcome.message == (
        "1 ('a',) [('why', 'b')]; 1 () [('order', 2)]; 1 ('a',) [('extra', {'c': 3}), ('lines', 'b')]"
    )


def test_a_synchronous_target_calls_them_without_await() -> None:
    @target
    def agent(_: Task, run: Run) -> Outcome:
        (read,) = through_doors(run, [get_order])
        return Outcome(str(read(order=7)), success=True)

    assert _executed(agent).trace.outcome.message == "{'fresh': False, 'order': 7}"


def test_what_is_said_of_an_unknown_tool_is_refused_with_the_nearest() -> None:
    run: Any = None
    with pytest.raises(UnknownNameError, match="get_order"):
        through_doors(run, [get_order], read_only=["get_orders"])


def test_what_is_said_of_an_unknown_tool_is_no_crash_of_the_agent() -> None:
    @target
    async def agent(_: Task, run: Run) -> Outcome:
        through_doors(run, [refund], effects={"refnd": effect("order")})
        return Outcome("")

    with pytest.raises(TargetError, match=r"effects: unknown tool 'refnd'\. Did you mean 'refund'"):
        _executed(agent)


def test_two_tools_of_one_name_are_refused() -> None:
    run: Any = None
    with pytest.raises(TargetError, match="two tools are called 'get_order'"):
        through_doors(run, [get_order, get_order])
    with pytest.raises(TargetError, match="no name"):
        through_doors(run, [lambda: None])
