"""Agents and teams of AutoGen cross doors, and stay what they are."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from chaosagent.adapters.autogen import through_doors
from chaosagent.effects.rule import effect
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Ending, Outcome, StatusError, SystemConfig, Task

pytestmark = [
    pytest.mark.autogen,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("autogen_agentchat") is None, reason="needs the extra autogen (autogen_agentchat)"),
]
if find_spec("autogen_agentchat") is not None:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
    from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
    from autogen_agentchat.tools import AgentTool
    from autogen_core.memory import ListMemory, Memory, MemoryContent, MemoryQueryResult, UpdateContextResult
    from autogen_core.models import SystemMessage

    from chaosagent.experiments.autogen.client import Policy, ScriptedClient, says, uses

EFFECTS = {"refund": effect("order")}
WISH = "Please refund order 7."


async def get_order(order: str) -> dict[str, Any]:
    """Read an order."""
    return {"order": order, "amount": 40}


def get_note(order: str) -> str:
    """Read the note on an order."""
    return f"no note on {order}"


async def refund(order: str, amount: int) -> str:
    """Pay a customer back."""
    return f"refunded {amount} for {order}"


def _told(messages: Any) -> dict[str, str]:
    """Return what the tools said last, by name."""
    if messages[-1].type != "FunctionExecutionResultMessage":
        return {}
    return {result.name: result.content for result in messages[-1].content}


def _clerk(messages: Any, _: Any) -> Any:
    """Look twice, refund, and say what came of it."""
    told = _told(messages)
    if not told:
        return uses(("get_order", {"order": "7"}), ("get_note", {"order": "7"}))
    if "get_order" in told:
        return uses(("refund", {"order": "7", "amount": 40}))
    return says("; ".join(told.values()))


def _agent(answer: Policy | None = None, tools: Any = (get_order, get_note, refund), **more: Any) -> Any:
    client = ScriptedClient(answer or _clerk, model="scripted")
    options = {"tools": list(tools), "max_tool_iterations": 5, "system_message": None, **more}
    return AssistantAgent(options.pop("name", "clerk"), client, **options)


def _target(runner: Any, **said: Any) -> Target:
    """Make a target of an agent or a team, or of what makes one for each run."""

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, runner() if isinstance(runner, FunctionType) else runner, **said)
        result = await doors.runner.run(task=WISH)
        return Outcome(result.messages[-1].to_text(), success=True)

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


def _swarm() -> Any:
    def front(messages: Any, _: Any) -> Any:
        told = _told(messages)
        if not told:
            return uses(("get_order", {"order": "7"}))
        if "get_order" in told:
            return uses(("transfer_to_accountant", {}))
        return says("still here")

    def accountant(messages: Any, _: Any) -> Any:
        told = _told(messages)
        return says(f"booked: {told['refund']}") if told else uses(("refund", {"order": "7", "amount": 40}))

    support = _agent(front, [get_order], handoffs=["accountant"], name="support")
    other = _agent(accountant, [refund], name="accountant")
    return Swarm(
        [support, other], termination_condition=TextMentionTermination("booked") | TextMentionTermination("still")
    )


def test_the_model_is_told_of_a_failed_tool_by_the_framework() -> None:
    execution = _executed(_target(_agent(), effects=EFFECTS), "service:refund[1]@clerk lost_response")

    asked = unpack_request(execution.trace.steps[-1].request).arguments["messages"]
    assert isinstance(asked, list)
    assert "'is_error': True" in str(asked[-1])
    assert len(execution.trace.effects) == 1
    assert execution.trace.ending is Ending.FINISHED


def test_a_delay_and_an_altered_result_reach_the_model() -> None:
    late = _executed(_target(_agent()), "service:refund[1]@clerk delay(seconds=60)")
    altered = _executed(_target(_agent()), "service:refund[1]@clerk dropped_response")

    assert late.trace.steps[-1].asked_at >= 60
    assert _landed(altered) == ["landed"]
    assert _message(altered) != "refunded 40 for 7"


def test_a_refusal_of_the_model_is_the_answer_of_the_agent() -> None:
    execution = _executed(_target(_agent()), "model:scripted[2]@clerk refusal")

    assert _message(execution) == "I'm sorry, but I can't help with that."


@pytest.mark.parametrize("kind", ["unknown_tool", "truncated_json", "missing_argument"])
def test_a_malformed_call_is_answered_by_the_framework(kind: str) -> None:
    execution = _executed(_target(_agent()), f"model:scripted[1]@clerk malformed_tool_call(kind={kind})")

    assert not any("get_order" in hook for hook in _hooks(execution))
    assert _landed(execution) == ["landed"]
    told = str(unpack_request(execution.trace.steps[3].request).arguments["messages"])
    assert "Error" in told or "validation error" in told


def test_plain_functions_run_one_after_the_other_in_the_order_of_asking() -> None:
    done: list[str] = []

    def one(order: str) -> str:
        done.append(f"one {order}")
        return "1"

    def two(order: str) -> str:
        done.append(f"two {order}")
        return "2"

    def model(messages: Any, _: Any) -> Any:
        if _told(messages):
            return says("done")
        return uses(("two", {"order": "a"}), ("one", {"order": "b"}), ("two", {"order": "c"}))

    for _ in range(20):
        done.clear()
        system = _target(_agent(model, [one, two]))
        execute(Experiment(system, system.task("default"), SystemConfig(), seed=1), EMPTY)
        assert done == ["two a", "one b", "two c"]


def test_asynchronous_tools_of_one_answer_run_at_the_same_time() -> None:
    async def slow(order: str) -> str:
        await asyncio.sleep(10)
        return order

    def model(messages: Any, _: Any) -> Any:
        return says("done") if _told(messages) else uses(("slow", {"order": "a"}), ("slow", {"order": "b"}))

    execution = _executed(_target(_agent(model, [slow])))

    assert [step.arrived_at for step in execution.trace.steps if step.interface == "service:slow"] == [10, 10]


def test_a_failure_of_the_model_ends_the_run_with_its_own_class() -> None:
    execution = _executed(_target(_agent()), "model:scripted[1]@clerk slow(kind=stalled)")

    assert execution.trace.ending is Ending.CRASHED
    assert execution.trace.ending_detail.startswith("TimeoutError")


@pytest.mark.skipif(find_spec("autogen_ext") is None, reason="needs the package autogen-ext (autogen_ext)")
def test_the_openai_client_fails_as_it_does_by_itself() -> None:
    openai = pytest.importorskip("openai")
    http = pytest.importorskip("httpx2")
    models = pytest.importorskip("autogen_ext.models.openai")

    def refuse(_: Any) -> Any:
        return http.Response(429, headers={"retry-after": "7"}, json={"error": {"message": "slow down"}})

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        async with http.AsyncClient(transport=http.MockTransport(refuse)) as transport:
            client = models.OpenAIChatCompletionClient(
                model="gpt-4o", api_key="none", max_retries=0, http_client=transport
            )
            try:
                await through_doors(run, AssistantAgent("clerk", client)).runner.run(task=WISH)
            except openai.APIStatusError as error:
                return Outcome(f"{type(error).__name__} {error.response.headers['retry-after']}", success=False)
            except openai.APIError as error:
                return Outcome(type(error).__name__, success=False)
        return Outcome("", success=True)

    assert _message(_executed(desk)) == "RateLimitError 7"
    assert _message(_executed(desk, "model:gpt-4o[1]@clerk slow(kind=stalled)")) == "APITimeoutError"


def test_failures_of_the_openai_client_are_the_same_after_crossing() -> None:
    from chaosagent.adapters.core.client_errors import client_error, crossing_error

    openai = pytest.importorskip("openai")
    for error in (
        TimeoutError("late"),
        ConnectionError("reset"),
        *(StatusError(s, "no", 2.0) for s in (401, 429, 503)),
    ):
        raised = client_error(error, openai)
        back = crossing_error(raised, openai)

        assert isinstance(raised, openai.APIError)
        assert (type(back), getattr(back, "status", 0)) == (type(error), getattr(error, "status", 0))
        assert getattr(back, "retry_after", None) == getattr(error, "retry_after", None)
    assert isinstance(client_error(StatusError(429), openai), openai.RateLimitError)
    assert isinstance(client_error(StatusError(503), openai), openai.InternalServerError)
    assert client_error(ValueError("mine"), openai).args == ("mine",)
    assert client_error(TimeoutError("late"), None).args == ("late",)


def test_what_pydantic_refuses_is_told_the_model_also_in_a_replay() -> None:
    from pydantic import TypeAdapter

    def refund(order: str, amount: int) -> str:
        return str(TypeAdapter(int).validate_python(f"{amount} for {order}"))

    execution = _executed(_target(_agent(tools=[get_order, get_note, refund])))

    assert "unable to parse string as an integer" in _message(execution)


def test_objects_that_a_tool_returns_are_shown_to_the_model_as_the_framework_shows_them() -> None:
    @dataclasses.dataclass
    class Receipt:
        order: str
        amount: int

    def receipt(order: str, amount: int) -> Receipt:
        return Receipt(order, amount)

    def model(messages: Any, _: Any) -> Any:
        told = _told(messages)
        return says(told["receipt"]) if told else uses(("receipt", {"order": "7", "amount": 40}))

    receipt.__annotations__["return"] = Receipt
    agent = _agent(model, [receipt])

    alone = asyncio.run(agent.run(task=WISH)).messages[-1].to_text()

    assert _message(_executed(_target(lambda: _agent(model, [receipt])))) == alone
    assert "Receipt(order='7', amount=40)" in alone


def test_a_hand_off_is_a_message_and_a_lost_one_leaves_the_sender_in_control() -> None:
    system = _target(_swarm(), effects=EFFECTS)

    nominal = _executed(system)
    lost = _executed(system, "message:handoffs[1]@support drop")
    late = _executed(system, "message:handoffs[1]@support reorder(seconds=5)")

    assert _message(nominal) == "booked: refunded 40 for 7"
    assert "service:refund[1]@accountant" in _hooks(nominal)
    assert [len(execution.trace.effects) for execution in (nominal, lost, late)] == [1, 0, 0]
    assert "model:scripted[3]@support" in _hooks(lost)


def test_a_hand_off_to_somebody_else_fails_as_the_framework_does() -> None:
    execution = _executed(_target(_swarm()), "message:handoffs[1]@support misaddressed(part=recipient)")

    assert execution.trace.ending is Ending.FINISHED or "Error" in execution.trace.ending_detail


def test_a_team_fails_with_the_text_of_its_agents_failure_alone() -> None:
    execution = _executed(_target(_swarm()), "model:scripted[1]@accountant slow(kind=stalled)")

    assert execution.trace.ending is Ending.CRASHED
    assert execution.trace.ending_detail.startswith("RuntimeError: TimeoutError")
    assert "Traceback" not in execution.trace.ending_detail


def test_a_team_that_never_ends_is_stopped_at_the_limit_of_steps() -> None:
    stopped_by: list[str] = []

    def endless() -> Any:
        def passes_on_to(name: str) -> Policy:
            return lambda *_: uses((f"transfer_to_{name}", {}))

        support = _agent(passes_on_to("accountant"), [], handoffs=["accountant"], name="support")
        return Swarm([support, _agent(passes_on_to("support"), [], handoffs=["support"], name="accountant")])

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, endless())
        try:
            return Outcome(str(await doors.runner.run(task=WISH)))
        except BaseException as error:
            stopped_by.append(type(error).__name__)
            raise

    trace = _executed(desk, steps_max=4).trace

    assert (trace.ending, len(trace.steps)) == (Ending.STEP_LIMIT, 4)
    assert stopped_by == ["RunEnded"] * 3, "the run, its repetition with extended limits, and the exact replay"


def test_an_agent_that_is_a_tool_is_handed_its_task_in_a_message() -> None:
    def accountant(messages: Any, _: Any) -> Any:
        told = _told(messages)
        return says(f"booked: {told['refund']}") if told else uses(("refund", {"order": "7", "amount": 40}))

    def front(messages: Any, _: Any) -> Any:
        told = _told(messages)
        return says(told["accountant"] or "nobody answers") if told else uses(("accountant", {"task": "refund 7"}))

    def made() -> Any:
        other = _agent(accountant, [refund], name="accountant")
        return _agent(front, [AgentTool(other, return_value_as_last_message=True)])

    system = _target(made, effects=EFFECTS)

    nominal = _executed(system)
    twice = _executed(system, "message:handoffs[1]@clerk duplicate")
    lost = _executed(system, "message:handoffs[1]@clerk drop")

    assert _message(nominal) == "booked: refunded 40 for 7"
    assert "service:refund[1]@accountant" in _hooks(nominal)
    assert [len(execution.trace.effects) for execution in (nominal, twice, lost)] == [1, 2, 0]
    assert _message(lost) == "nobody answers"


def _remembering(memory: Any) -> Target:
    def parrot(messages: Any, _: Any) -> Any:
        return says(" ".join(m.content.strip() for m in messages if m.type == "SystemMessage"))

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        kept = memory()
        doors = through_doors(run, _agent(parrot, [], memory=[kept]))
        for note in ("likes tea", "has a cat"):
            await doors.memory(kept).add(MemoryContent(content=note, mime_type="text/plain"))
        result = await doors.runner.run(task=WISH)
        return Outcome(result.messages[-1].to_text(), success=True)

    return desk


def test_a_memory_is_read_and_written_through_its_door() -> None:
    system = _remembering(ListMemory)

    nominal, lost = _executed(system), _executed(system, "memory:memory[1]@clerk lost_update")
    poisoned = _executed(system, "memory:memory[3]@clerk untrusted_note")

    assert "1. likes tea\n2. has a cat" in _message(nominal)
    assert "likes tea" not in _message(lost)
    assert "3. " in _message(poisoned)


def test_a_memory_that_adds_something_else_has_its_messages_read() -> None:
    class Shouting(ListMemory if find_spec("autogen_agentchat") else object):  # type: ignore[misc]  # as above
        async def update_context(self, model_context: Any) -> Any:
            for content in self.content:
                await model_context.add_message(SystemMessage(content=str(content.content).upper()))
            return UpdateContextResult(memories=MemoryQueryResult(results=self.content))

    assert issubclass(Shouting, Memory)
    assert _message(_executed(_remembering(Shouting))) == "LIKES TEA HAS A CAT"


def test_a_streamed_answer_crosses_as_a_whole() -> None:
    system = _target(_agent(model_client_stream=True))

    assert _message(_executed(system)) == "refunded 40 for 7"
    assert "sorry" in _message(_executed(system, "model:scripted[1]@clerk refusal"))


def test_reflection_on_the_use_of_tools_is_a_request_without_tools() -> None:
    def model(messages: Any, tools: Any) -> Any:
        return uses(("get_order", {"order": "7"})) if tools else says(f"I read: {_told(messages)['get_order']}")

    execution = _executed(_target(_agent(model, max_tool_iterations=1, reflect_on_tool_use=True)))

    assert _message(execution).startswith("I read:")
    assert unpack_request(execution.trace.steps[-1].request).arguments["tool_choice"] == "none"


def test_teams_that_ask_a_model_who_speaks_next_cross_its_door() -> None:
    agents = [_agent(lambda *_: says("here"), [], name=name) for name in ("first", "second")]
    chooser = ScriptedClient(lambda *_: says("second"), model="chooser")
    team = SelectorGroupChat(agents, chooser, termination_condition=MaxMessageTermination(2))

    execution = _executed(_target(team))

    assert _hooks(execution) == ["model:chooser[1]@SelectorGroupChat", "model:scripted[1]@second"]


def test_a_team_in_a_team_crosses_too() -> None:
    inner = RoundRobinGroupChat([_agent()], max_turns=1, name="inner")
    outer = RoundRobinGroupChat([inner], max_turns=1, name="outer")

    execution = _executed(_target(outer), "service:refund[1]@clerk timeout")

    assert _landed(execution) == ["landed"]


def test_the_same_agents_work_with_doors_and_no_tracing_and_without_doors() -> None:
    for make in (_agent, _swarm):
        system = _target(make, effects=EFFECTS)

        with_doors = asyncio.run(system.run(system.task("default"), UntracedRun(system.task("default"))))
        without = asyncio.run(make().run(task=WISH))

        assert with_doors.message == without.messages[-1].to_text()
        assert "refunded 40 for 7" in with_doors.message


def test_a_renewed_copy_begins_anew() -> None:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, _swarm(), effects=EFFECTS)
        said = [(await one.run(task=WISH)).messages[-1].to_text() for one in (doors.runner, doors.renewed())]
        return Outcome(" / ".join(said), success=True)

    execution = _executed(desk)

    assert _message(execution) == "booked: refunded 40 for 7 / booked: refunded 40 for 7"
    assert _hooks(execution).count("tools:support[1]@support") == 1


def test_nothing_is_left_behind() -> None:
    agent, team = _agent(), _swarm()

    def state(one: Any) -> dict[str, Any]:
        return {name: plain_or_id(value) for name, value in vars(one).items()}

    def plain_or_id(value: Any) -> Any:
        return list(value) if isinstance(value, list) else id(value)

    before = [state(one) for one in (agent, team, *team._participants)]
    threads = set(threading.enumerate())  # of other tests, which may be about to end

    _executed(_target(agent), "service:refund[1]@clerk timeout")
    _executed(_target(team), "model:scripted[1]@accountant slow(kind=stalled)")

    assert [state(one) for one in (agent, team, *team._participants)] == before
    assert agent._model_context._messages == []
    assert not [one for one in set(threading.enumerate()) - threads if one.name.startswith("chaosagent-run")]


def test_two_runs_at_once_do_not_meet() -> None:
    system = _target(_swarm(), effects=EFFECTS)
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    alone = execute(experiment, EMPTY).trace.digest

    async def many() -> list[str]:
        runs = (asyncio.to_thread(lambda: execute(experiment, EMPTY).trace.digest) for _ in range(4))
        return await asyncio.gather(*runs)

    assert asyncio.run(many()) == [alone] * 4
    assert StatusError(503).status == 503


def test_the_readme_shows_how(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^```python title=frameworks/with_autogen\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.team = _swarm()
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(compile(found[1], "README.md", "exec"), names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), 1), EMPTY).trace

    assert trace.outcome.message == "booked: refunded 40 for 7"
    assert "service:refund" in [step.interface for step in trace.steps]
    assert len([line for line in found[1].splitlines() if line]) <= 12
