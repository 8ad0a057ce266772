"""Checkpoints that doors of frameworks take when a model is about to be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.adapters.doors import FrameworkDoors, Tools
from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.evaluation import Fingerprint, Fingerprinting
from chaosagent.faults.schedule import parse
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Ending, Outcome, SystemConfig, Task

READS, TURNS = 2, 3
LOST = Choices("service.lost_response", {"when": ("before",)})

World = Callable[[dict[str, Any]], Plain]


def _whole(state: dict[str, Any]) -> Plain:
    return [state["turn"], state["noted"]]


def agent_of(world: World | None, *, clock_matters: bool = False) -> Target:
    """Return an agent that forgets each conversation; its program notes those in which a call failed.

    It fails when two did. The world and the program are `turn` and `noted`.
    """

    @target(tasks=[Task("t")])
    async def agent(_: Task, run: Run) -> Outcome:
        state: dict[str, Any] = {"turn": 0, "noted": 0}
        doors = FrameworkDoors(run, Tools(read_only=["get"]))
        if world is not None:
            doors.take_checkpoints(lambda: world(state), clock_matters=clock_matters)
        for state["turn"] in range(TURNS):
            messages = [{"role": "user", "content": "hello"}]
            for _number in range(READS):
                asked = list(messages)
                await doors.model("m", {"messages": asked}, lambda _: {"content": "", "tool_calls": []})
                try:
                    told = str(await doors.tool("get", {}, lambda _: {"value": 1}))
                except ConnectionError:
                    told = "error"
                messages.append({"role": "tool", "content": told})
            state["noted"] += any(message["content"] == "error" for message in messages)
        return Outcome("done", success=state["noted"] < 2)

    return agent


def _execution(system: Target, schedule: str = "") -> Execution:
    experiment = Experiment(system, system.task("t"), SystemConfig(), seed=1)
    return execute(experiment, parse(schedule), fingerprinting=Fingerprinting.STATE)


def _marks(system: Target, schedule: str = "") -> list[bytes]:
    fingerprints: tuple[Fingerprint, ...] = _execution(system, schedule).evaluation.fingerprints
    return [one.common for one in fingerprints]


def _search(system: Target, **more: Any) -> SearchResult:
    plan = Plan(
        target=system,
        target_reference=system.name,
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=(parse_contract("objective"),),
        space=Space((LOST,)),
        budget=3.4,
        **more,
    )
    (search,) = Study(plan, InlineExecutor(Workbench(system, plan.config, plan.contracts))).run().searches
    return search


def test_there_is_one_before_each_request_and_none_unless_asked_for() -> None:
    assert len(_marks(agent_of(_whole))) == READS * TURNS
    assert _marks(agent_of(None)) == []


def test_runs_that_came_to_the_same_are_equal_from_there_on() -> None:
    first, second = (
        _marks(agent_of(_whole), f"service:get[{call}] service.lost_response(when=before)") for call in (1, 2)
    )
    undisturbed = _marks(agent_of(_whole))

    assert first[0] == second[0] == undisturbed[0]
    assert first[1] != second[1] == undisturbed[1]  # one has failed in this conversation, which only it knows
    assert first[READS:] == second[READS:]
    assert all(one != other for one, other in zip(first[READS:], undisturbed[READS:], strict=True))


def test_what_is_told_the_agent_tells_states_apart() -> None:
    changed = _marks(agent_of(_whole), "service:get[1] service.schema_mismatch")

    assert changed[0] == _marks(agent_of(_whole))[0]
    assert changed[1] != _marks(agent_of(_whole))[1]
    assert changed[READS:] == _marks(agent_of(_whole))[READS:]  # that conversation is over


def test_the_time_tells_states_apart_if_it_matters() -> None:
    late = "service:get[1] service.delay(seconds=5)"

    assert _marks(agent_of(_whole), late) == _marks(agent_of(_whole))
    timed = agent_of(_whole, clock_matters=True)
    assert _marks(timed, late)[1] != _marks(timed)[1]


@pytest.mark.slow
def test_a_search_proves_the_same_in_fewer_runs() -> None:
    without, with_them = _search(agent_of(None)), _search(agent_of(_whole))

    assert without.counterexample is not None
    assert with_them.counterexample is not None
    assert with_them.counterexample.cost == without.counterexample.cost
    assert with_them.certificate.certified
    assert without.certificate.certified
    assert with_them.certificate.contradictions == 0
    assert with_them.certificate.pruned["R3"] > 0
    assert without.certificate.pruned["R3"] == 0
    assert with_them.certificate.executed < without.certificate.executed


@pytest.mark.slow
def test_an_audit_catches_a_world_that_leaves_something_out() -> None:
    search = _search(agent_of(lambda state: state["turn"]), audit=200)

    assert search.certificate.contradictions == 1
    assert "R3" not in search.certificate.pruned
    assert search.certificate.level == "C1"
    assert search.counterexample is not None
    assert search.counterexample.cost == _search(agent_of(None)).counterexample.cost  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("world", "told"),
    [
        (
            lambda _: object(),
            r"take_checkpoints\(world\): UsageError: .*It must return the state of the world as plain data",
        ),
        (lambda _: 1 // 0, r"take_checkpoints\(world\): ZeroDivisionError"),
    ],
)
def test_a_world_that_cannot_be_told_makes_the_run_worthless(world: World, told: str) -> None:
    with pytest.raises(Exception, match=told):
        _execution(agent_of(world))


def test_what_goes_on_behind_a_door_takes_none_and_leaves_none() -> None:
    @target(tasks=[Task("t")])
    async def nested(_: Task, run: Run) -> Outcome:
        doors = FrameworkDoors(run)
        doors.take_checkpoints(lambda: None)

        async def other(_: dict[str, Any]) -> str:
            await doors.model("m", {"messages": ["inside"]}, lambda _: {"content": ""})
            return "done"

        await doors.message("c", "you", "hello", other)
        await doors.model("m", {"messages": ["outside"]}, lambda _: {"content": ""})
        return Outcome("done", success=True)

    execution = _execution(nested)

    assert execution.trace.ending is Ending.FINISHED
    assert len(execution.evaluation.fingerprints) == 1
