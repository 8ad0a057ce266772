"""How runs end: by themselves, by a limit, by nothing more to wait for; and that no target gets round it."""

import asyncio
import gc
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaosagent.contracts.custom import contract
from chaosagent.errors import PluginError, TargetError
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.step import StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Claim, Ending, Outcome, Task

Play = Callable[..., Execution]


def limited(**limits: Any) -> dict[str, Any]:
    return {"limits": RunLimits(**limits)}


def opened(run: Any) -> Any:
    return run.service("crm", {"get": lambda: 1})


def returning(value: object) -> Target:
    async def agent(_: Task, run: Run) -> Any:
        await opened(run)("get")
        return value

    return target(name="tried", tasks=[Task("only")])(agent)


def ended(made: Target, schedule: str = "") -> Trace:
    return execute(Experiment(made, made.task("only"), made.config("default"), 0), parse(schedule)).trace


@pytest.mark.parametrize(("returned", "what"), [("done", "a text"), (None, "nothing"), (3, "int")])
def test_what_is_no_outcome_is_a_mistake_of_the_target(returned: object, what: str) -> None:
    with pytest.raises(TargetError, match=f"returned {what}; it must return chaosagent.Outcome"):
        ended(returning(returned))


async def later(_: Task, outcome: Outcome) -> bool:
    return bool(outcome.message)


@pytest.mark.parametrize("schedule", ["", "service:crm[1] test/nothing"])
@pytest.mark.parametrize(
    ("objective", "said"),
    [
        (later, "is asynchronous, and nobody awaits it. Write `def`"),
        (lambda *_: "not booked", "returned a str; it must return True or False"),
        (lambda *_: (False, "not booked"), "returned a tuple; it must return True or False"),
    ],
)
def test_an_objective_that_does_not_judge_is_no_success(objective: Any, said: str, schedule: str) -> None:
    made = replace(returning(Outcome("done")), objective=objective)
    if schedule:
        assert ended(made, schedule).outcome.success is not True
    else:
        with pytest.raises(TargetError, match=said):
            ended(made, schedule)


@pytest.mark.parametrize(("returned", "message"), [("done", "done"), (None, "")])
def test_a_text_or_nothing_is_the_message_where_an_objective_judges_or_a_fault_has_landed(
    returned: object, message: str
) -> None:
    made = returning(returned)

    judged = ended(replace(made, objective=lambda _, outcome: outcome.message == message))
    faulty = ended(made, "service:crm[1] test/nothing")

    assert (judged.ending, judged.outcome.message, judged.outcome.success) == (Ending.FINISHED, message, True)
    assert (faulty.ending, faulty.outcome.message, faulty.outcome.success) == (Ending.FINISHED, message, None)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (5, r"returned int; it must return chaosagent\.Outcome\(message, success"),
        ({"message": "x"}, "returned dict"),
        (Outcome(message=5), r"returned Outcome\(message=<int>, success=None\); the message must be a text"),  # type: ignore[arg-type]
        (Outcome(success="yes"), "success='yes'"),  # type: ignore[arg-type]
        (Outcome(state=object()), "returned an outcome that is not plain data: builtins.object"),  # type: ignore[arg-type]
        (Outcome(claims=(Claim("a", {"b": object()}),)), "not plain data: builtins.object"),  # type: ignore[dict-item]
        (Outcome(claims=("refund",)), "returned 'refund' among its claims. A claim has the kind"),  # type: ignore[arg-type]
    ],
)
def test_anything_else_breaks_the_protocol(play: Play, returned: object, message: str) -> None:
    async def agent(run: Any) -> object:
        await opened(run)("get")
        return returned

    with pytest.raises(TargetError, match=message):
        play(agent)


def test_a_plain_function_that_returns_a_coroutine_breaks_the_protocol(play: Play) -> None:
    async def inner() -> str:
        return "never awaited"

    with pytest.raises(TargetError, match="returned coroutine; it must return"):
        play(lambda _: inner())


def test_the_objective_decides_what_the_target_leaves_open(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        return Outcome(state=run.seed)

    def objective(_: object, outcome: Outcome) -> bool:
        return outcome.state == 3

    assert play(agent, seed=3, objective=objective).evaluation.success is True
    assert play(agent, seed=4, objective=objective).evaluation.success is False


def test_a_mistake_of_the_objective_is_not_a_result(play: Play) -> None:
    async def agent(_: Any) -> str:
        return "done"

    with pytest.raises(TargetError, match="the objective of target 'tried', task 'default', raised ZeroDivisionError"):
        play(agent, objective=lambda *_: 1 // 0)


def test_the_state_of_an_outcome_is_what_it_was_at_the_end(play: Play) -> None:
    state: dict[str, Any] = {"paid": [1]}

    async def agent(_: Any) -> Outcome:
        return Outcome(state=state)

    found = play(agent)
    state["paid"].append(2)

    assert found.trace.outcome.state == {"paid": [1]}


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (LookupError("no such order"), "LookupError: no such order"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError("given up"), "CancelledError: given up"),
        (BaseException("odd"), "BaseException: odd"),
        (GeneratorExit(), "GeneratorExit: "),
        (ExceptionGroup("several", [ValueError("a")]), "ExceptionGroup: several (1 sub-exception)"),
        (RuntimeError("object at 0x7f3b1ce5ea00 is gone"), "RuntimeError: object at 0x... is gone"),
        (AssertionError(), "AssertionError: "),
    ],
)
def test_whatever_a_target_raises_is_a_crash_and_a_verdict(play: Play, error: BaseException, detail: str) -> None:
    async def agent(run: Any) -> None:
        await opened(run)("get")
        raise error

    found = play(agent)

    assert (found.trace.ending, found.trace.ending_detail) == (Ending.CRASHED, detail)
    assert found.evaluation.success is False
    assert len(found.trace.steps) == 1


@pytest.mark.filterwarnings("error")
def test_an_interrupted_run_leaves_nothing_behind_that_python_complains_of(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)

    async def agent(run: Any) -> None:
        door = opened(run)
        await door("get")
        waiting = asyncio.create_task(door("get"))
        forgotten = door("get")
        raise KeyboardInterrupt("pressed", waiting, forgotten)

    with pytest.raises(KeyboardInterrupt, match="pressed"):
        play(agent, "service:crm[1] test/later")
    gc.collect()

    assert complaints == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_happens_to_this_process_is_no_verdict_on_the_target(play: Play, error: type[BaseException]) -> None:
    async def agent(_: Any) -> None:
        raise error("of the process")

    with pytest.raises(error, match="of the process"):
        play(agent)


def test_a_target_that_cancels_itself_has_crashed(play: Play) -> None:
    async def agent(run: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await run.clock.sleep(1)

    assert play(agent).trace.ending is Ending.CRASHED


async def _stubborn(run: Any) -> str:
    door = opened(run)
    for _ in range(1_000):
        try:
            await door("get")
        except BaseException:
            continue
    return "all is well"


async def _careless(run: Any) -> str:
    door = opened(run)
    while not run.clock.now():
        await asyncio.gather(*(door("get") for _ in range(70)), return_exceptions=True)
        await run.clock.sleep(1)
    return "all is well"


async def _grouped(run: Any) -> str:
    door = opened(run)
    async with asyncio.TaskGroup() as group:
        for _ in range(90):
            group.create_task(door("get"))
    return "all is well"


async def _elsewhere(run: Any) -> str:
    door = opened(run)

    async def work() -> None:
        while True:
            await door("get")

    running = asyncio.create_task(work())
    await run.clock.sleep(1)
    return f"all is well, {running.done()}"


@pytest.mark.parametrize("target", [_stubborn, _careless, _grouped, _elsewhere])
def test_no_target_gets_round_the_limit_on_steps(play: Play, target: Callable[..., Any]) -> None:
    found = play(target, experiment=limited(steps_max=5))

    assert (found.trace.ending, found.trace.ending_detail) == (Ending.STEP_LIMIT, "5 steps")
    assert len(found.trace.steps) == 5
    assert found.evaluation.success is False


def test_notes_count_as_steps(play: Play) -> None:
    async def agent(run: Any) -> None:
        while True:
            run.note("thinking")

    found = play(agent, experiment=limited(steps_max=4))

    assert found.trace.ending is Ending.STEP_LIMIT
    assert [step.kind for step in found.trace.steps] == [StepKind.NOTE] * 4


def test_a_run_below_the_limit_is_not_disturbed_by_it(play: Play) -> None:
    async def agent(run: Any) -> None:
        door = opened(run)
        for _ in range(4):
            await door("get")

    assert play(agent, experiment=limited(steps_max=5)).trace.ending is Ending.FINISHED


async def _waits_for_ever(_: Any) -> None:
    await asyncio.Event().wait()


async def _polls(_: Any) -> None:
    while True:
        await asyncio.sleep(0)


async def _sleeps(run: Any) -> None:
    while True:
        await run.clock.sleep(3600)


@pytest.mark.parametrize(
    ("target", "ending"),
    [(_waits_for_ever, Ending.DEADLOCK), (_polls, Ending.LIVELOCK), (_sleeps, Ending.TIME_LIMIT)],
)
def test_a_target_that_never_ends_is_ended(play: Play, target: Callable[..., Any], ending: Ending) -> None:
    found = play(target, experiment=limited(turns_max=1_000, virtual_seconds_max=86_400.0))

    assert found.trace.ending is ending
    assert found.trace.ending_detail
    assert found.evaluation.success is False


def test_what_a_target_leaves_running_cannot_call_any_more(play: Play) -> None:
    told: list[str] = []

    async def agent(run: Any) -> str:
        door = opened(run)

        async def left() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                try:
                    await door("get")
                except BaseException as error:
                    told.append(type(error).__name__)

        asyncio.create_task(left())  # noqa: RUF006  # left on purpose
        await asyncio.sleep(0)
        return "ended"

    found = play(agent)

    assert told == ["RunEnded"]
    assert found.trace.steps == ()
    assert found.trace.ending is Ending.FINISHED


def test_a_task_that_refuses_to_be_cancelled_does_not_hold_up_the_end(play: Play) -> None:
    refused: list[int] = []

    async def agent(run: Any) -> str:
        async def stubborn() -> None:
            while len(refused) < 10:
                try:
                    await run.clock.sleep(1)
                except asyncio.CancelledError:
                    refused.append(1)

        asyncio.create_task(stubborn())  # noqa: RUF006  # left on purpose
        await asyncio.sleep(0)
        return "ended"

    found = play(agent, experiment=limited(turns_max=500))

    assert found.trace.ending is Ending.FINISHED
    assert refused == [1]


@pytest.mark.parametrize("direction", ["request", "response"])
def test_payloads_beyond_the_limit_are_refused(play: Play, direction: str) -> None:
    async def agent(run: Any) -> None:
        door = run.service("crm", {"put": lambda text: len(text), "get": lambda: "x" * 200})
        await (door("put", text="x" * 200) if direction == "request" else door("get"))

    with pytest.raises(TargetError, match=r"A payload of 2\d\d bytes crosses service:crm; the limit is 100"):
        play(agent, experiment=limited(payload_bytes_max=100))
    assert play(agent, experiment=limited(payload_bytes_max=300)).trace.ending is Ending.FINISHED


def test_a_missing_input_or_output_of_virtual_time_says_what_to_do(play: Play) -> None:
    async def agent(_: Any) -> None:
        await asyncio.open_connection("localhost", 80)

    found = play(agent)

    assert found.trace.ending is Ending.CRASHED
    assert "Put what talks to sockets" in found.trace.ending_detail


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it swallows GeneratorExit, too
def test_a_target_that_swallows_everything_ends_at_the_limit_all_the_same(play: Callable[..., Execution]) -> None:
    async def stubborn(run: Any) -> None:
        service = run.service("s", lambda *_, **__: "more")
        while True:
            try:  # noqa: SIM105  # as people write it
                await service("get")
            except:  # noqa: E722  # as people write it
                pass

    trace = play(stubborn, experiment={"limits": RunLimits(steps_max=5)}).trace

    gc.collect()
    assert (trace.ending, len(trace.steps)) == (Ending.STEP_LIMIT, 5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # they swallow GeneratorExit, too
def test_several_tasks_that_swallow_everything_end_with_the_run(play: Callable[..., Execution]) -> None:
    async def stubborn(run: Any) -> str:
        service = run.service("s", lambda *_, **__: "more")

        async def go_on() -> None:
            while True:
                try:
                    await service("get")
                    await run.clock.sleep(1.0)
                except:  # noqa: E722  # as people write it
                    pass

        left = [asyncio.create_task(go_on()) for _ in range(3)]
        await run.clock.sleep(2.5)
        return str(len(left))

    trace = play(stubborn).trace

    gc.collect()
    assert trace.ending is Ending.FINISHED


def test_a_finished_run_leaves_nothing_to_the_garbage_collector(play: Play) -> None:
    async def agent(run: Any) -> str:
        crm = run.service("crm", {"get": lambda number: number})
        memory = run.memory("notes")
        with run.agent("planner"):
            await asyncio.gather(crm("get", number=1), memory("write", key="a", value=1), run.clock.sleep(1.0))
        return "done"

    play(agent)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)  # says what it finds: other threads of this process may leave something, too
    try:
        play(agent)
        gc.collect()
        found = {f"{type(one).__module__}.{type(one).__name__}" for one in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()

    assert sorted(name for name in found if name.startswith("chaosagent.")) == []


def test_a_crash_is_placed_in_the_innermost_code_of_the_user(play: Play) -> None:
    def pay(amount: str) -> int:
        return int(amount)

    async def nested(run: Any) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(inner(run))

    async def inner(run: Any) -> None:
        await run.service("bank", {"pay": pay})("pay", amount="much")

    async def library(run: Any) -> None:
        await opened(run)("get")
        json.loads("{")

    async def injected(run: Any) -> None:
        await opened(run)("get")

    first = pay.__code__.co_firstlineno
    assert play(inner).trace.crashed_at == f"test_endings.py:{first + 1} in pay"
    assert play(nested).evaluation.crashed_at == f"test_endings.py:{first + 1} in pay"
    assert play(library).trace.crashed_at == f"test_endings.py:{library.__code__.co_firstlineno + 2} in library"
    faulty = play(injected, "service:crm[1] test/fail").trace
    assert faulty.crashed_at == f"test_endings.py:{injected.__code__.co_firstlineno + 1} in injected"


def test_a_run_that_did_not_crash_has_no_place_of_a_crash(play: Play) -> None:
    async def agent(run: Any) -> None:
        try:
            raise LookupError
        except LookupError:
            await opened(run)("get")

    async def waits(run: Any) -> None:
        del run
        await asyncio.get_running_loop().create_future()

    assert play(agent).trace.crashed_at == ""
    assert play(waits).trace.crashed_at == ""


def test_a_mistake_in_what_a_target_declares_is_placed_too(play: Play) -> None:
    async def agent(run: Any) -> None:
        await run.service("crm", {"pay": lambda: 1}, effects={"pay": lambda asked, told: asked["order"] or told})("pay")

    def unsure(task: Task, outcome: Outcome) -> bool:
        return bool(outcome.state["order"] if isinstance(outcome.state, dict) else task.input["order"])  # type: ignore[index,call-overload]

    with pytest.raises(TargetError, match=r"crm, pay: KeyError: order \(at test_endings\.py:\d+ in <lambda>\)"):
        play(agent)
    with pytest.raises(TargetError, match=r"raised TypeError: .* \(at test_endings\.py:\d+ in unsure\)"):
        play(opens, objective=unsure)
    with pytest.raises(PluginError, match=r"'steady' raised AttributeError: .* \(at test_endings\.py:\d+ in steady\)"):
        play(opens, experiment={"contracts": (steady,)})


@contract("steady")
def steady(step: Any) -> str | None:
    return step.no_such_field  # type: ignore[no-any-return]  # whatever it is


async def opens(run: Any) -> None:
    await opened(run)("get")
