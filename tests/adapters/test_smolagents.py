"""Agents of smolagents cross doors, and stay what they are."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from chaosagent.adapters.smolagents import through_doors
from chaosagent.effects.rule import effect
from chaosagent.event_loop import thread_jobs as works
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Ending, Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.smolagents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("smolagents") is None, reason="needs the extra smolagents (smolagents)"),
]
if find_spec("smolagents") is not None:
    from smolagents import CodeAgent, ToolCallingAgent, tool

    from chaosagent.experiments.smolagents.model import ScriptedModel, ends, says, text_of, uses

EFFECTS = {"refund": effect("order")}
WISH = "Please refund order 7."
DONE: list[str] = []


def _tools(*names: str) -> list[Any]:
    def get_order(order: str) -> dict:  # type: ignore[type-arg]  # smolagents knows no other
        """Read an order.

        Args:
            order: Which one.
        """
        DONE.append(f"get_order {order}")
        return {"order": order, "amount": 40}

    def get_note(order: str) -> str:
        """Read the note on an order.

        Args:
            order: Which one.
        """
        DONE.append(f"get_note {order}")
        return f"no note on {order}"

    def refund(order: str, amount: int) -> str:
        """Pay a customer back.

        Args:
            order: Which one.
            amount: How much.
        """
        return f"refunded {amount} for {order}"

    made = {one.__name__: tool(one) for one in (get_order, get_note, refund)}
    return [made[name] for name in names or made]


def _clerk(messages: Any) -> Any:
    """Look twice, refund, and say what came of it."""
    text = text_of(messages[1:])
    if "Error" in text:
        return ends("failed: " + text.partition("Error:\n")[2].partition("\n")[0])
    if "Observation" not in text:
        return uses(("get_order", {"order": "7"}), ("get_note", {"order": "7"}))
    if "refunded" not in text:
        return uses(("refund", {"order": "7", "amount": 40}))
    return ends(text.rpartition("Observation:\n")[2])


def _agent(answer: Any = _clerk, tools: Any = None, kind: Any = None, **more: Any) -> Any:
    made = kind or ToolCallingAgent
    given = _tools() if tools is None else tools
    return made(given, ScriptedModel(answer, "scripted"), **{"name": "clerk", "verbosity_level": 0, **more})


def _target(agent: Any, **said: Any) -> Target:
    """Make a synchronous target of an agent, or of what makes one for each run."""

    @target
    def desk(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, agent() if isinstance(agent, FunctionType) else agent, **said)
        return Outcome(str(doors.agent.run(WISH)), success=True)

    return desk


def _executed(system: Target, delta: str = "", **limits: Any) -> Execution:
    """Run a target, and see that an exact replay is the same."""
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1, limits=RunLimits(**limits))
    schedule: Schedule = parse(delta) if delta else EMPTY
    execution = execute(experiment, schedule)
    served = serve(experiment, execution.trace, schedule)
    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest
    return execution


def _hooks(execution: Execution) -> list[str]:
    return [str(step.hook) for step in execution.trace.steps]


def _message(execution: Execution) -> str:
    return execution.trace.outcome.message


def _landed(execution: Execution) -> list[str]:
    return [str(step.landed.landing.value) for step in execution.trace.steps if step.landed]


HOOKS = [
    "tools:clerk[1]@clerk",
    "model:scripted[1]@clerk",
    "service:get_order[1]@clerk",
    "service:get_note[1]@clerk",
    "model:scripted[2]@clerk",
    "service:refund[1]@clerk",
    "model:scripted[3]@clerk",
]


@pytest.mark.parametrize("in_thread", [True, False])
def test_an_asynchronous_target_runs_it_in_a_thread_or_on_the_loop(in_thread: bool) -> None:
    agent = _agent()

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, agent, effects=EFFECTS)
        said = await asyncio.to_thread(doors.agent.run, WISH) if in_thread else doors.agent.run(WISH)
        return Outcome(str(said), success=True)

    assert _hooks(_executed(desk)) == HOOKS
    assert len(_executed(desk, "service:refund[1]@clerk lost_response").trace.effects) == 1


def test_agents_that_run_at_once_make_the_same_trace_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(works, "PATIENCE_SECONDS", 300.0)  # a thread that says nothing is slow: none waits for another

    def looks(name: str) -> Any:
        def look(messages: Any) -> Any:
            asked = text_of(messages[1:]).count("Observation")
            return uses((name, {"order": str(asked)})) if asked < 4 else ends(f"{name} done")

        return ToolCallingAgent(_tools(name), ScriptedModel(look, f"of-{name}"), name=f"for_{name}", verbosity_level=0)

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        both = [through_doors(run, looks(name)) for name in ("get_order", "get_note")]
        said = await asyncio.gather(*(asyncio.to_thread(doors.agent.run, WISH) for doors in both))
        return Outcome(" and ".join(map(str, said)), success=True)

    executions = [_executed(desk) for _ in range(5)]

    assert len({execution.trace.digest for execution in executions}) == 1
    assert _message(executions[0]) == "get_order done and get_note done"


def _coding(messages: Any) -> Any:
    text = text_of(messages[1:])
    if "exceeded the maximum execution time" in text:
        return says("<code>final_answer('too slow')</code>")
    if "Error" in text:
        return says("<code>final_answer('failed')</code>")
    return says("<code>amount = get_order('7')['amount']\nfinal_answer(refund('7', amount=amount))</code>")


def test_code_that_a_model_wrote_calls_tools_through_their_doors() -> None:
    system = _target(_agent(_coding, kind=CodeAgent), effects=EFFECTS)

    execution = _executed(system)

    assert _hooks(execution) == ["model:scripted[1]@clerk", "service:get_order[1]@clerk", "service:refund[1]@clerk"]
    assert _message(execution) == "refunded 40 for 7"
    assert _message(_executed(system, "service:refund[1]@clerk lost_response")) == "failed"


def test_code_beyond_its_time_limit_has_done_its_work_when_the_agent_is_told() -> None:
    system = _target(_agent(_coding, kind=CodeAgent), effects=EFFECTS)

    execution = _executed(system, "service:refund[1]@clerk delay(seconds=60)")

    assert _message(execution) == "too slow"
    assert len(execution.trace.effects) == 1


def test_traces_are_equal_in_every_process() -> None:
    code = (
        "import runpy, sys; sys.argv = ['x'];"
        f"module = runpy.run_path({str(Path(__file__))!r});"
        "made = [module['_agent'](), module['_agent'](module['_coding'], kind=module['CodeAgent'])];"
        "print(*(module['_executed'](module['_target'](one)).trace.digest for one in made))"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(digests) == 1
    assert len(digests.pop().split()) == 2


def test_calls_of_one_answer_are_all_made_in_its_order_and_the_first_failure_is_told() -> None:
    for fault, told in (("", "refunded 40 for 7"), ("service:get_order[1]@clerk timeout", "failed: Error executing")):
        for _ in range(5):
            DONE.clear()
            system = _target(_agent())
            message = _message(execute(_experiment(system), parse(fault) if fault else EMPTY))
            assert message.startswith(told)
            assert DONE[-1] == "get_note 7"


def test_calls_beside_a_final_answer_are_made_as_without_doors() -> None:
    def model(messages: Any) -> Any:
        if "Error" in text_of(messages[1:]):
            return ends("done")
        return uses(("get_order", {"order": "7"}), ("final_answer", {"answer": "x"}), ("get_note", {"order": "7"}))

    DONE.clear()
    assert _agent(model).run(WISH) == "done"
    without = sorted(DONE)
    DONE.clear()
    message = _message(execute(_experiment(_target(_agent(model))), EMPTY))

    assert message == "done"
    assert DONE == ["get_order 7", "get_note 7"]
    assert sorted(DONE) == without


def _experiment(system: Target) -> Experiment:
    return Experiment(system, system.task("default"), SystemConfig(), seed=1)


def test_a_failure_a_delay_and_an_altered_result_reach_the_model() -> None:
    failed = _executed(_target(_agent(), effects=EFFECTS), "service:refund[1]@clerk lost_response")
    late = _executed(_target(_agent()), "service:refund[1]@clerk delay(seconds=60)")
    altered = _executed(_target(_agent()), "service:get_note[1]@clerk dropped_response")

    assert "ConnectionError" in _message(failed)
    assert len(failed.trace.effects) == 1
    assert late.trace.steps[-1].asked_at >= 60
    assert _landed(altered) == ["landed"]


def test_a_refusal_of_the_model_is_no_call_and_the_framework_says_so() -> None:
    execution = _executed(_target(_agent()), "model:scripted[2]@clerk refusal")

    asked = str(unpack_request(execution.trace.steps[-1].request).arguments["messages"])
    assert "Error while parsing tool call from model output" in asked


@pytest.mark.parametrize("kind", ["unknown_tool", "missing_argument"])
def test_a_malformed_call_is_answered_by_the_framework(kind: str) -> None:
    execution = _executed(_target(_agent()), f"model:scripted[1]@clerk malformed_tool_call(kind={kind})")

    assert not any("get_order" in hook for hook in _hooks(execution))
    assert _landed(execution) == ["landed"]
    assert _message(execution).startswith("failed")


def test_broken_arguments_are_the_single_one_of_a_tool_as_the_framework_has_it() -> None:
    execution = _executed(_target(_agent()), "model:scripted[1]@clerk malformed_tool_call(kind=truncated_json)")

    asked = [step for step in execution.trace.steps if step.interface == "service:get_order"]
    assert str(unpack_request(asked[0].request).arguments["order"]).startswith('{"or')


def test_a_call_that_a_model_writes_as_a_text_has_no_drawn_id() -> None:
    def model(messages: Any) -> Any:
        if "Observation" in text_of(messages[1:]):
            return ends("done")
        return says('{"name": "get_note", "arguments": {"order": "7"}}')

    execution = _executed(_target(_agent(model)))

    assert _message(execution) == "done"
    assert "call-0001" in str(unpack_request(execution.trace.steps[-1].request).arguments["messages"])


def test_a_failure_of_the_model_ends_the_run_as_the_framework_does() -> None:
    execution = _executed(_target(_agent()), "model:scripted[2]@clerk slow(kind=stalled)")

    assert execution.trace.ending is Ending.CRASHED
    assert execution.trace.ending_detail.startswith("AgentGenerationError: Error while generating output")


def test_an_agent_that_never_ends_is_stopped_at_the_limit_of_steps() -> None:
    stopped_by: list[str] = []

    @target
    def desk(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, _agent(lambda _: uses(("get_note", {"order": "7"})), max_steps=1_000))
        try:
            return Outcome(str(doors.agent.run(WISH)))
        except BaseException as error:
            stopped_by.append(type(error).__name__)
            raise

    trace = _executed(desk, steps_max=4).trace

    assert (trace.ending, len(trace.steps)) == (Ending.STEP_LIMIT, 4)
    assert stopped_by == ["RunEnded"] * 3, "the run, its repetition with extended limits, and the exact replay"


def _managed() -> Any:
    def accountant(messages: Any) -> Any:
        text = text_of(messages[1:])
        if "refunded" in text:
            return ends("booked: " + text.rpartition("Observation:\n")[2])
        return uses(("refund", {"order": "7", "amount": 40}))

    def front(messages: Any) -> Any:
        text = text_of(messages[1:])
        if "Error" in text:
            return ends("failed: " + text.rpartition("Error:")[2].strip())
        if "Observation" not in text:
            return uses(("accountant", {"task": "refund order 7"}))
        return ends("booked" if "booked" in text else "nobody answers")

    other = _agent(accountant, _tools("refund"), name="accountant", description="Keeps the books.")
    return _agent(front, _tools("get_order"), managed_agents=[other])


def test_a_managed_agent_is_handed_its_task_in_a_message() -> None:
    system = _target(_managed, effects=EFFECTS)

    nominal = _executed(system)
    twice = _executed(system, "message:handoffs[1]@clerk duplicate")
    lost = _executed(system, "message:handoffs[1]@clerk drop")
    broken = _executed(system, "model:scripted[1]@accountant slow(kind=stalled)")

    assert [_message(execution) for execution in (nominal, twice, lost)] == ["booked", "booked", "nobody answers"]
    assert "service:refund[1]@accountant" in _hooks(nominal)
    assert [len(execution.trace.effects) for execution in (nominal, twice, lost)] == [1, 2, 0]
    assert "Error executing request to team member 'accountant'" in _message(broken)
    assert "AgentFailure" not in _message(broken)


def test_a_streamed_answer_crosses_as_a_whole() -> None:
    system = _target(_agent(_coding, kind=CodeAgent, stream_outputs=True))

    assert _hooks(_executed(system))[0] == "model:scripted[1]@clerk"


def test_the_same_agents_work_with_doors_and_no_tracing_and_without_doors() -> None:
    for make in (_agent, _managed, lambda: _agent(_coding, kind=CodeAgent)):
        system = _target(make(), effects=EFFECTS)

        with_doors = system.run(system.task("default"), UntracedRun(system.task("default")))

        assert with_doors.message == str(make().run(WISH))


def test_nothing_is_left_behind() -> None:
    for make in (_agent, _managed, lambda: _agent(_coding, kind=CodeAgent)):
        agent = make()
        before = ({name: id(value) for name, value in vars(agent).items()}, vars(agent.model).copy(), dict(agent.tools))

        _executed(_target(agent), "service:refund[1]@clerk timeout")

        after = ({name: id(value) for name, value in vars(agent).items()}, vars(agent.model).copy(), dict(agent.tools))
        assert after == before
        assert agent.memory.steps == []


def test_two_runs_at_once_do_not_meet() -> None:
    system = _target(_managed(), effects=EFFECTS)
    alone = execute(_experiment(system), EMPTY).trace.digest

    async def many() -> list[str]:
        runs = (asyncio.to_thread(lambda: execute(_experiment(system), EMPTY).trace.digest) for _ in range(4))
        return await asyncio.gather(*runs)

    assert asyncio.run(many()) == [alone] * 4


def test_the_readme_shows_how(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^```python title=frameworks/with_smolagents\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.support = _agent()
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(compile(found[1], "README.md", "exec"), names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), 1), EMPTY).trace

    assert trace.outcome.message == "refunded 40 for 7"
    assert "service:refund" in [step.interface for step in trace.steps]
    assert len([line for line in found[1].splitlines() if line]) <= 12
