"""A value that no door carries is, once a fault has landed, how the target behaves: whatever it is, wherever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chaosagent.errors import TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Ending, Outcome, Task

Play = Callable[..., Execution]


class Evil(dict[str, Any]):
    """A mapping that cannot be read."""

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


UNFIT: dict[str, Callable[[], Any]] = {
    "key": lambda: {None: 1},
    "unreadable-key": lambda: {Ellipsis: 1, 2: 2},
    "object": object,
    "iterator": lambda: iter("unread"),
    "cyclic": cyclic,
    "deep": lambda: nested(5_000),
    "evil": Evil,
}


async def asks(run: Any, value: Any) -> Outcome:
    await run.service("other", {"put": lambda thing: thing})("put", thing=value)
    return Outcome("done")


async def is_answered(run: Any, value: Any) -> Outcome:
    await run.service("other", {"get": lambda: value})("get")
    return Outcome("done")


async def sends(run: Any, value: Any) -> Outcome:
    await run.message("desk")("send", to="clerk", body=value)
    return Outcome("done")


async def remembers(run: Any, value: Any) -> Outcome:
    await run.memory("notes")("write", key="k", value=value)
    return Outcome("done")


async def notes(run: Any, value: Any) -> Outcome:
    run.note("seen", thing=value)
    return Outcome("done")


async def asks_for(run: Any, value: Any) -> Outcome:
    await run.service("other", {"put": lambda: None})(value)
    return Outcome("done")


async def links(run: Any, value: Any) -> Outcome:
    run.link(value, "supports", "outcome")
    return Outcome("done")


async def leaves(run: Any, value: Any) -> Outcome:
    run.state(lambda: value)
    return Outcome("done")


async def returns(_: Any, value: Any) -> Any:
    return value


async def returns_state(_: Any, value: Any) -> Outcome:
    return Outcome("done", state=value)


async def says(_: Any, value: Any) -> Outcome:
    return Outcome(value)


async def succeeds(_: Any, value: Any) -> Outcome:
    return Outcome("done", success=value)


async def claims(_: Any, value: Any) -> Outcome:
    return Outcome("done", claims=(Claim("paid", {"thing": value}),))


PLACES = (
    asks, is_answered, sends, remembers, notes, asks_for, links,
    leaves, returns, returns_state, says, succeeds, claims,
)  # fmt: skip


def agent_of(place: Any, make: Callable[[], Any], *, always: bool = False) -> Callable[[Any], Any]:
    async def agent(run: Any) -> Any:
        found = await run.service("crm", {"get": lambda: "A-1"})("get")
        return await place(run, make()) if found is None or always else Outcome("done")

    return agent


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", UNFIT)
def test_under_a_fault_the_run_crashes_in_the_same_way_each_time(play: Play, place: Any, kind: str) -> None:
    agent = agent_of(place, UNFIT[kind])

    first, second = (play(agent, "service:crm[1] test/nothing") for _ in range(2))

    assert first.trace.ending is Ending.CRASHED
    assert first.trace.ending_detail
    assert first.trace.digest == second.trace.digest


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", UNFIT)
def test_without_a_fault_it_is_a_mistake_in_the_target(play: Play, place: Any, kind: str) -> None:
    with pytest.raises(TargetError, match=r"cross|must (be|return)|not plain data|run\.state"):
        play(agent_of(place, UNFIT[kind], always=True))


@pytest.mark.parametrize("place", PLACES)
def test_an_exact_replay_of_such_a_run_reproduces_it(place: Any) -> None:
    agent = agent_of(place, UNFIT["key"])

    @target(name="careless", tasks=[Task("t")])
    async def system(_: Task, run: Run) -> Any:
        return await agent(run)

    schedule = parse("service:crm[1] test/nothing")
    experiment = Experiment(system, system.tasks["t"], system.config("default"), 0)
    trace = execute(experiment, schedule).trace

    assert serve(experiment, trace, schedule).execution.trace.digest == trace.digest


@pytest.mark.parametrize("kind", UNFIT)
def test_a_checkpoint_with_such_a_state_changes_nothing(play: Play, kind: str) -> None:
    async def agent(run: Any) -> str:
        found = await run.service("crm", {"get": lambda: "A-1"})("get")
        run.checkpoint("read", UNFIT[kind]() if found is None else 1)
        return "done"

    traces = [
        play(agent, "service:crm[1] test/nothing", fingerprinting=depth).trace
        for depth in (Fingerprinting.OFF, Fingerprinting.STATE)
    ]

    assert traces[0].digest == traces[1].digest


@pytest.mark.parametrize("error", [SystemExit(2), BaseExceptionGroup("both", [SystemExit(2)])])
def test_what_a_tool_raises_to_end_the_process_is_an_answer_at_a_place_of_its_own(
    play: Play, error: BaseException
) -> None:
    def tool() -> None:
        raise error

    async def agent(run: Any) -> str:
        try:
            await run.service("cli", {"run": tool})("run")
        except BaseException as told:
            return type(told).__name__
        return "done"

    plain_run, disturbed = play(agent), play(agent, "service:cli[1] test/nothing")

    assert plain_run.trace.outcome.message == type(error).__name__
    assert [str(crossing.place) for crossing in plain_run.evaluation.crossings] == ["service:cli[1]"]
    assert plain_run.trace.steps[0].failure.kind == type(error).__name__  # type: ignore[union-attr]  # there is one
    assert disturbed.trace.outcome.message == "done"


def test_an_exact_replay_ends_the_process_again() -> None:
    def tool() -> None:
        raise SystemExit(2)

    @target(name="careless", tasks=[Task("t")])
    async def system(_: Task, run: Run) -> None:
        await run.service("crm", {"get": lambda: "A-1"})("get")
        await run.service("cli", {"run": tool})("run")

    schedule = parse("service:crm[1] test/nothing")
    experiment = Experiment(system, system.tasks["t"], system.config("default"), 0)
    trace = execute(experiment, schedule).trace

    assert trace.ending_detail == "SystemExit: 2"
    assert serve(experiment, trace, schedule).execution.trace.digest == trace.digest


def test_an_exact_replay_ends_where_an_answer_was_too_large() -> None:
    @target(name="careless", tasks=[Task("t")])
    async def system(_: Task, run: Run) -> Outcome:
        crm = run.service("crm", {"get": lambda: "A-1", "list": lambda: "x" * 2_000})
        if await crm("get") is None:
            await crm("list")
        return Outcome("done")

    schedule = parse("service:crm[1] test/nothing")
    limits = RunLimits(payload_bytes_max=1_000)
    experiment = Experiment(system, system.tasks["t"], system.config("default"), 0, limits=limits)
    trace = execute(experiment, schedule).trace

    assert trace.ending is Ending.INCONCLUSIVE
    assert serve(experiment, trace, schedule).execution.trace.digest == trace.digest
