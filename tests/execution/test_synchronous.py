"""Targets that are plain functions: doors without `await`, in the same virtual time."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Execution
from chaosagent.limits import RunLimits
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Ending, Outcome

Play = Callable[..., Execution]


def shop(run: Any) -> Outcome:
    """Retry a payment with a back-off."""
    pay = run.service("pay", {"pay": lambda order: {"paid": order}}, effects={"pay": effect("order")})
    with run.agent("cashier"):
        for attempt in range(3):
            try:
                return Outcome(state=[pay("pay", order=7), run.clock.now()])
            except TimeoutError:
                run.clock.sleep(2.0**attempt)
    return Outcome(state=None)


def test_doors_answer_without_await(play: Play) -> None:
    found = play(shop)

    assert found.trace.outcome.state == [{"paid": 7}, 0.0]
    assert found.trace.steps[0].hook == "service:pay[1]@cashier"


def test_injections_act_and_the_clock_passes_back_offs(play: Play) -> None:
    schedule = "service:pay[1] test/fail(when=after); service:pay[2] test/fail"
    found = play(shop, schedule)

    assert found.trace.outcome.state == [{"paid": 7}, 3.0]
    assert len(found.trace.effects) == 2
    assert len(found.evaluation.effective) == 2


def test_a_delay_passes_in_virtual_time(play: Play) -> None:
    assert play(shop, "service:pay[1] test/hold(seconds=3600)").trace.outcome.state == [{"paid": 7}, 3600.0]


def test_attempts_and_messages_work_without_await(play: Play) -> None:
    def agent(run: Any) -> Outcome:
        asking = run.service("crm", {"get": lambda: 1}).ask("get")
        asking.attempt()
        asking.attempt()
        run.message("team")("send", to="b", body="hello")
        return Outcome(state=run.receive("team", "b"))

    found = play(agent)

    assert found.trace.outcome.state == "hello"
    assert [step.attempt for step in found.trace.steps[:2]] == [0, 1]


def test_what_was_deferred_happens_while_time_passes(play: Play) -> None:
    def agent(run: Any) -> Outcome:
        channel = run.message("team")
        channel("send", to="b", body="late")
        run.clock.sleep(10)
        return Outcome(state=run.receive("team", "b"))

    found = play(agent, "message:team[1] test/later(seconds=5)")

    assert found.trace.outcome.state == "late"
    assert found.trace.steps[1].kind is StepKind.LATE


def test_a_function_behind_a_door_may_call_another_door(play: Play) -> None:
    def agent(run: Any) -> Outcome:
        inner = run.service("inner", {"get": lambda: 20})
        outer = run.service("outer", {"get": lambda: inner("get") + inner("get") + 2})
        return Outcome(state=outer("get"))

    found = play(agent, "service:inner[2] test/hold(seconds=3)")

    assert found.trace.outcome.state == 42
    assert [step.hook for step in found.trace.steps] == ["service:inner[1]", "service:inner[2]", "service:outer[1]"]
    assert found.trace.steps[2].arrived_at == 3.0


def test_waiting_for_a_message_that_nobody_can_send_is_a_deadlock_that_nothing_swallows(play: Play) -> None:
    def agent(run: Any) -> str:
        for _ in range(3):
            try:
                run.receive("team", "b")
            except BaseException:
                continue
        return "all is well"

    found = play(agent)

    assert found.trace.ending is Ending.DEADLOCK
    assert found.trace.outcome.message == ""


def test_the_limit_on_steps_holds(play: Play) -> None:
    def agent(run: Any) -> str:
        crm = run.service("crm", {"get": lambda: 1})
        for _ in range(100):
            try:
                crm("get")
            except Exception:
                return "swallowed"
        return "all is well"

    found = play(agent, experiment={"limits": RunLimits(steps_max=10)})

    assert found.trace.ending is Ending.STEP_LIMIT
    assert len(found.trace.steps) == 10


def test_what_the_target_raises_is_a_crash(play: Play) -> None:
    found = play(lambda _: 1 // 0)

    assert (found.trace.ending, found.trace.ending_detail) == (
        Ending.CRASHED,
        "ZeroDivisionError: integer division or modulo by zero",
    )


def test_doors_are_called_from_the_thread_of_the_run(play: Play) -> None:
    def agent(run: Any) -> Outcome:
        crm = run.service("crm", {"get": threading.get_ident})
        with ThreadPoolExecutor(2) as pool:
            return Outcome(state=[future.result() for future in [pool.submit(crm, "get") for _ in range(2)]])

    with pytest.raises(TargetError, match="service:crm is called from another thread"):
        play(agent)
