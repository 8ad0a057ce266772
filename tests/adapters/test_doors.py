"""What the doors of all frameworks have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chaosagent.adapters.doors import FrameworkDoors, Tools, clean_name, refuse_twice
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.targets.call_handler import is_behind
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Outcome, SystemConfig


def _run(system: Target, schedule: str = "") -> Trace:
    """Run a target, and see that an exact replay is the same."""
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    trace = execute(experiment, parse(schedule)).trace
    served = serve(experiment, trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == trace.digest
    return trace


def test_names_that_a_schedule_cannot_hold_are_made_such_that_it_can() -> None:
    @target
    async def odd(_: object, run: Run) -> Outcome:
        doors = FrameworkDoors(run, Tools(effects={"pay back!": effect("order")}))
        with doors.acting("Billing Agent [EU]"), doors.acting(""):
            return Outcome(str(await doors.tool("pay back!", {"order": 7}, lambda arguments: arguments["order"])))

    trace = _run(odd)

    assert [step.hook for step in trace.steps] == ["service:pay_back![1]@Billing_Agent_EU_"]
    assert [one.identity for one in trace.effects] == [{"order": 7}]
    assert clean_name("  ") == "unnamed"
    assert clean_name("function:play:") == "function:play"


@pytest.mark.parametrize("waits", [False, True])
def test_what_acts_behind_a_door_knows_it(waits: bool) -> None:
    def plainly(_: dict[str, Any]) -> bool:
        return is_behind()

    async def waiting(_: dict[str, Any]) -> list[bool]:
        await asyncio.sleep(1)
        return [is_behind(), *await asyncio.gather(*(asyncio.to_thread(is_behind) for _ in range(2)))]

    @target
    async def looking(_: object, run: Run) -> Outcome:
        doors = FrameworkDoors(run)
        before = is_behind()
        inside = await doors.tool("look", {}, waiting if waits else plainly)
        return Outcome(str([before, inside, is_behind()]))

    assert _run(looking).outcome.message == str([False, [True] * 3 if waits else True, False])


def test_exceptions_of_models_memories_and_the_like_are_declared_once_for_all() -> None:
    class Busy(Exception):
        """What a client raises."""

    def fail(_: object) -> None:
        raise Busy("later")

    @target
    async def busy(_: object, run: Run) -> Outcome:
        doors, seen = FrameworkDoors(run, Tools().raising(Busy)), []
        asks: tuple[Callable[[], Awaitable[Any]], ...] = (
            lambda: doors.tool("t", {}, fail),
            lambda: doors.model("m", {"messages": []}, fail),
            lambda: doors.retrieval("r", {"query": "q"}, fail),
            lambda: doors.memory("k", "read", {"key": "k"}, fail),
            lambda: doors.message("c", "you", "hello", fail),
        )
        for ask in asks:
            try:
                await ask()
            except Busy as error:
                seen.append(str(error))
        return Outcome(" ".join(seen))

    assert _run(busy).outcome.message == "later later later later later"


def test_what_is_said_of_tools_is_checked() -> None:
    with pytest.raises(
        TargetError, match=r"read_only='get_order' is one text. Give .* as a list: read_only=\['get_order'\]"
    ):
        Tools(read_only="get_order")
    told = Tools(read_only=(name for name in ["get_orders"]))
    for _ in range(2):
        with pytest.raises(UnknownNameError, match=r"read_only: unknown tool .get_orders.\. Did you mean .get_order."):
            told.check(["get_order"])
    with pytest.raises(UnknownNameError, match="handoffs: unknown tool 'ask'"):
        Tools().check(["get_order"], handoffs=["ask"])
    with pytest.raises(TargetError, match="declared read-only and has effects"):
        Tools(effects={"pay": effect()}, read_only=["pay"]).check(["pay"])


def test_two_names_that_schedules_could_not_tell_apart_are_refused() -> None:
    refuse_twice("tools", ["a", "b"])
    with pytest.raises(TargetError, match="two tools are called 'a_b'"):
        refuse_twice("tools", ["a b", "a_b"])
