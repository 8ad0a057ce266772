"""Agents of the OpenAI Agents SDK cross doors, fail as the SDK would have them fail, and repeat."""

from __future__ import annotations

import asyncio
import enum
import re
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.adapters.openai_agents import through_doors
from chaosagent.canonical import unpack
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Ending, Landing, Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.openai_agents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agents") is None, reason="needs the extra openai-agents"),
]
agents: Any = pytest.importorskip("agents")
testing: Any = pytest.importorskip("agents.testing")

WORLD: list[str] = []


@dataclass
class Order:
    """What a tool answers with that is no plain data."""

    id: str
    amount: int


class Colour(enum.Enum):
    """What is plain data only as a text, which would not be made into a colour again."""

    RED = "red"


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    WORLD.clear()


def get_order(order: str) -> Order:
    """Read an order."""
    return Order(order, 40)


async def refund(order: str, amount: int) -> str:
    """Pay a customer back."""
    WORLD.append(f"{order}:{amount}")
    return f"refunded {amount}"


def calls(*made: tuple[str, dict[str, Any]]) -> list[Any]:
    """Return what a model says that calls tools, with ids as a server draws them."""
    return [testing.function_call(name, arguments, call_id=f"call_{uuid.uuid4().hex}") for name, arguments in made]


def says(text: str) -> list[Any]:
    return [testing.assistant_message(text)]


READ = ("get_order", {"order": "A"})
PAY = ("refund", {"order": "A", "amount": 40})
OVER: tuple[str, dict[str, Any]] = ("transfer_to_billing_agent", {})
SCRIPT = ([calls(READ, READ), calls(OVER)], [calls(PAY), says("paid")])


def desk(triage: Sequence[Any], billing: Sequence[Any] = (), **options: Any) -> Any:
    """Return a desk of two agents with scripted models."""
    tools = [agents.function_tool(get_order), agents.function_tool(refund, **options)]
    second = agents.Agent(name="Billing Agent", model=testing.ScriptedModel(billing), tools=tools)
    return agents.Agent(name="triage", model=testing.ScriptedModel(triage), tools=tools, handoffs=[second])


def target_of(make: Callable[[], Any], *, session: bool = True, tools: bool = True) -> Target:
    """Return a target that runs an agent once."""

    @target(tasks=[Task("default", input="Pay back order A.")])
    async def desk_target(task: Task, run: Run) -> Outcome:
        said: Any = {"effects": {"refund": effect("order")}, "read_only": ["get_order"]} if tools else {}
        doors = through_doors(run, make(), **said)
        kept = doors.session(agents.SQLiteSession(uuid.uuid4().hex)) if session else None
        result = await agents.Runner.run(
            doors.agent, task.input, session=kept, run_config=doors.run_config, max_turns=6
        )
        return Outcome(str(result.final_output), success=True)

    return desk_target


def ran(system: Target, schedule: str = "") -> Execution:
    """Run a target under a schedule; what is served from its trace afterwards must be the same, and ask nobody."""
    bare = Experiment(system, system.task("default"), SystemConfig(), 1, default_contracts())
    experiment = bare.with_nominal()
    WORLD.clear()
    execution = execute(experiment, parse(schedule))
    done = list(WORLD)
    served = serve(experiment, execution.trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest
    assert done == WORLD
    assert execute(experiment, parse(schedule)).trace.digest == execution.trace.digest
    for step in execution.trace.steps:
        assert step.landed is None or step.landed.landing is Landing.LANDED
    WORLD[:] = done
    return execution


def answers(execution: Execution, interface: str) -> list[str]:
    return [str(step.response) for step in execution.trace.steps if step.interface == interface]


def asked(execution: Execution, index: int) -> str:
    """Return what the model of the triage agent was asked in a call."""
    steps = [step for step in execution.trace.steps if step.interface.startswith("model:")]
    return str(unpack(steps[index].request))


# ---------------------------------------------------------------------- nominal


def test_models_tools_session_hand_offs_and_descriptions_are_steps_of_their_agents() -> None:
    trace = ran(target_of(lambda: desk(*SCRIPT))).trace

    assert trace.outcome == Outcome("paid", success=True)
    crossed = [(step.agent, step.interface, step.operation) for step in trace.steps if "memory" not in step.interface]
    assert crossed == [
        ("triage", "tools:agents", "list"),
        ("triage", "model:ScriptedModel", "complete"),
        ("triage", "service:get_order", "call"),
        ("triage", "service:get_order", "call"),
        ("triage", "model:ScriptedModel", "complete"),
        ("triage", "message:handoffs", "send"),
        ("Billing_Agent", "tools:agents", "list"),
        ("Billing_Agent", "model:ScriptedModel", "complete"),
        ("Billing_Agent", "service:refund", "call"),
        ("Billing_Agent", "model:ScriptedModel", "complete"),
    ]
    memory = [step.operation for step in trace.steps if step.interface == "memory:session"]
    assert memory == ["read", "append", "append", "append", "append", "append"]
    assert [(one.kind, one.identity) for one in trace.effects] == [("refund.call", {"order": "A"})]


def test_links_tell_which_answer_asked_for_a_call_and_which_read_it() -> None:
    trace = ran(target_of(lambda: desk([calls(READ), says("done")]))).trace

    links = [link for step in trace.steps for link in step.links]
    told = [f"{link.source} {link.relation} {link.target}" for link in links]
    assert told == [
        "service:get_order[1]@triage requested_by model:ScriptedModel[1]@triage",
        "model:ScriptedModel[2]@triage derived_from service:get_order[1]@triage",
    ]


def test_the_agent_that_was_given_stays_as_it_is() -> None:
    given = desk([calls(READ), says("done")])
    before = (given.tools[:], given.handoffs[:], given.model, given.tools[0].on_invoke_tool)

    system = target_of(lambda: given)
    execute(Experiment(system, system.task("default"), SystemConfig(), 1), parse("service:get_order[1] timeout"))

    assert (given.tools, given.handoffs, given.model, given.tools[0].on_invoke_tool) == before


def test_a_run_outside_a_study_goes_the_same_way() -> None:
    agents.set_tracing_disabled(True)  # outside of a study it is as it is configured
    system = target_of(lambda: desk(*SCRIPT))

    outcome = asyncio.run(system.run(system.task("default"), UntracedRun(system.task("default"))))

    assert outcome == Outcome("paid", success=True)
    assert WORLD == ["A:40"]


# ---------------------------------------------------------------------- faults


def test_an_exception_of_a_tool_becomes_the_text_that_the_sdk_gives_the_model() -> None:
    run = ran(target_of(lambda: desk(*SCRIPT)), "service:get_order[2]@triage timeout")

    assert "An error occurred while running the tool. Please try again." in asked(run, 1)
    assert run.trace.outcome.message == "paid"


def test_an_exception_of_a_tool_that_does_not_tell_its_failures_ends_the_run() -> None:
    def make() -> Any:
        return desk([calls(PAY)], failure_error_function=None)

    trace = ran(target_of(make), "service:refund[1]@triage timeout").trace

    assert trace.ending is Ending.CRASHED


def test_an_answer_that_is_lost_after_the_commit_pays_twice_when_the_model_tries_again() -> None:
    def again_after_an_error(call: Any) -> list[Any]:
        return calls(PAY) if "try again" in str(call.input[-1]) else says("paid")

    def make() -> Any:
        return desk([calls(PAY), testing.ModelStep.respond(again_after_an_error), says("paid")])

    run = ran(target_of(make), "service:refund[1]@triage lost_response")

    assert WORLD == ["A:40", "A:40"]
    assert run.trace.verdict("at-most-once").violation is not None


def test_a_delay_runs_into_the_time_out_of_the_sdk() -> None:
    run = ran(
        target_of(lambda: desk([calls(PAY), says("late")], timeout=5)), "service:refund[1]@triage delay(seconds=60)"
    )

    assert "Tool 'refund' timed out after 5 seconds." in asked(run, 1)


def test_an_argument_that_the_model_leaves_out_identifies_an_effect_by_its_default() -> None:
    async def pay(order: str, currency: str = "EUR") -> str:
        WORLD.append(f"{order} {currency}")
        return "paid"

    @target
    async def optional(_: Task, run: Run) -> Outcome:
        tool = agents.function_tool(pay, strict_mode=False)
        model = testing.ScriptedModel([calls(("pay", {"order": "A"})), says("done")])
        said = {"pay": effect("order", "currency")}
        doors = through_doors(run, agents.Agent(name="triage", model=model, tools=[tool]), effects=said)
        await agents.Runner.run(doors.agent, "Pay.", run_config=doors.run_config)
        return Outcome("done", success=True)

    (done,) = ran(optional).trace.effects

    assert done.identity == {"order": "A", "currency": "EUR"}
    assert WORLD == ["A EUR"]


def test_an_altered_answer_is_what_the_model_reads() -> None:
    schedule = "service:get_order[1]@triage field_corruption(kind=null, index=0)"
    run = ran(target_of(lambda: desk([calls(READ), says("done")])), schedule)

    assert "{'amount': None, 'id': 'A'}" in asked(run, 1)


def test_an_object_is_rebuilt_so_that_the_model_reads_its_own_text() -> None:
    assert "Order(id='A', amount=40)" in asked(ran(target_of(lambda: desk([calls(READ), says("done")]))), 1)


def test_an_object_that_would_cross_as_a_text_is_told_as_the_sdk_tells_it() -> None:
    def get_order(order: str) -> Colour:  # noqa: ARG001  # as the model calls it
        """Read the colour of an order."""
        return Colour.RED

    def make() -> Any:
        model = testing.ScriptedModel([calls(READ), says("done")])
        return agents.Agent(name="triage", model=model, tools=[agents.function_tool(get_order)])

    assert "Colour.RED" in asked(ran(target_of(make, tools=False)), 1)


def test_a_refusal_ends_the_run_and_a_malformed_call_is_the_sdks_own_matter() -> None:
    refused = ran(target_of(lambda: desk(*SCRIPT)), "model:ScriptedModel[1]@triage refusal").trace
    assert refused.outcome.message.startswith("I'm sorry")

    unknown = "model:ScriptedModel[1]@triage malformed_tool_call(kind=unknown_tool)"
    assert ran(target_of(lambda: desk(*SCRIPT)), unknown).trace.ending is Ending.CRASHED

    broken = ran(
        target_of(lambda: desk([calls(READ), says("done")])),
        "model:ScriptedModel[1]@triage malformed_tool_call(kind=truncated_json)",
    )
    assert answers(broken, "service:get_order") == []
    assert "An error occurred while running the tool" in asked(broken, 1)


def test_a_turn_that_is_repeated_is_another_call() -> None:
    def make() -> Any:
        return desk([calls(PAY), says("never said"), says("paid")])

    ran(target_of(make), "model:ScriptedModel[2]@triage repeated_turn")

    assert WORLD == ["A:40", "A:40"]


def test_a_model_that_cannot_be_reached_fails_as_its_client_would() -> None:
    openai: Any = pytest.importorskip("openai")
    seen: list[Exception] = []

    @target
    async def careful(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, desk([says("done"), says("again")]))
        try:
            await agents.Runner.run(doors.agent, "Hello", run_config=doors.run_config)
        except (openai.APIError, TimeoutError) as error:
            seen.append(error)
        return Outcome("handled", success=True)

    ran(careful, "model:ScriptedModel[1]@triage slow(kind=stalled)")

    assert all(isinstance(error, openai.APITimeoutError) and isinstance(error, TimeoutError) for error in seen)
    assert seen


@pytest.mark.parametrize(
    ("status", "name"), [(429, "RateLimitError"), (503, "InternalServerError"), (418, "APIStatusError")]
)
def test_a_status_of_a_model_crosses_and_is_raised_as_its_client_does(status: int, name: str) -> None:
    httpx, openai = pytest.importorskip("httpx2"), pytest.importorskip("openai")
    response = httpx.Response(status, headers={"retry-after": "7"}, request=httpx.Request("POST", "http://model"))
    seen: list[Any] = []

    @target
    async def careful(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, desk([openai.APIStatusError("busy", response=response, body=None)]))
        try:
            await agents.Runner.run(doors.agent, "Hello", run_config=doors.run_config)
        except openai.APIStatusError as error:
            seen.append(error)
        return Outcome("handled", success=True)

    ran(careful)

    assert {(type(error).__name__, error.status_code, error.response.headers["retry-after"]) for error in seen} == {
        (name, status, "7")
    }


def test_what_a_model_raises_itself_is_raised_again_in_a_replay() -> None:
    system = target_of(lambda: desk([agents.ModelBehaviorError("no")]))

    trace = ran(system).trace

    assert trace.ending is Ending.CRASHED


def test_a_write_that_is_lost_is_missing_from_the_session() -> None:
    @target
    async def twice(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, desk([says("one"), says("two")]))
        session = doors.session(agents.SQLiteSession("one"))
        for text in ("first", "second"):
            await agents.Runner.run(doors.agent, text, session=session, run_config=doors.run_config)
        return Outcome(
            str([item["content"] for item in await session.get_items() if item["role"] == "user"]), success=True
        )

    assert ran(twice).trace.outcome.message == "['first', 'second']"
    lost = ran(twice, "memory:session[2] lost_update").trace
    assert lost.outcome.message == "['second']"
    stale = ran(twice, "memory:session[4] stale_read").trace
    assert [step.landed is not None for step in stale.steps if step.operation == "read"] == [False, True, False]


def test_a_hand_off_that_is_lost_leaves_the_sender_in_control() -> None:
    def make() -> Any:
        return desk([calls(OVER), says("I wait for billing.")], [says("paid")])

    assert ran(target_of(make)).trace.outcome.message == "paid"
    lost = ran(target_of(make), "message:handoffs[1]@triage drop").trace
    assert lost.outcome.message == "I wait for billing."


def test_a_hand_off_that_is_delivered_twice_calls_back_twice() -> None:
    def make() -> Any:
        second = agents.Agent(name="Billing Agent", model=testing.ScriptedModel([says("paid")]))
        over = agents.handoff(second, on_handoff=lambda _: WORLD.append("ticket"))
        return agents.Agent(name="triage", model=testing.ScriptedModel([calls(OVER)]), handoffs=[over])

    ran(target_of(make, tools=False))
    assert WORLD == ["ticket"]
    ran(target_of(make, tools=False), "message:handoffs[1]@triage duplicate")
    assert WORLD == ["ticket", "ticket"]


def test_streams_cross_as_whole_answers() -> None:
    @target
    async def streaming(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, desk([calls(PAY), says("paid")]))
        result = agents.Runner.run_streamed(doors.agent, "Pay.", run_config=doors.run_config)
        async for _event in result.stream_events():
            pass
        return Outcome(str(result.final_output), success=True)

    run = ran(streaming, "service:refund[1]@triage error_status")

    assert run.trace.outcome.message == "paid"
    assert "An error occurred" in asked(run, 1)


def test_a_tool_that_is_an_agent_crosses_with_all_that_the_agent_calls() -> None:
    @target
    async def nested(_: Task, run: Run) -> Outcome:
        inner = through_doors(run, agents.Agent(
            name="clerk", model=testing.ScriptedModel([calls(PAY), says("paid by clerk")]),
            tools=[agents.function_tool(refund)],
        )).agent  # fmt: skip
        outer = agents.Agent(
            name="boss",
            model=testing.ScriptedModel([calls(("clerk", {"input": "pay"})), says("done")]),
            tools=[inner.as_tool("clerk", "Pays.")],
        )
        doors = through_doors(run, outer)
        result = await agents.Runner.run(doors.agent, "Pay.", run_config=doors.run_config)
        return Outcome(str(result.final_output), success=True)

    trace = ran(nested).trace

    assert [step.interface for step in trace.steps if step.agent == "clerk"][-3:] == [
        "model:ScriptedModel",
        "service:refund",
        "model:ScriptedModel",
    ]


def test_tools_of_an_mcp_server_cross_doors() -> None:
    mcp, types = pytest.importorskip("agents.mcp"), pytest.importorskip("mcp.types")

    class Books(mcp.MCPServer):  # type: ignore[name-defined,misc]  # untyped where the extra is missing
        name = "books"

        async def connect(self) -> None: ...
        async def cleanup(self) -> None: ...
        async def list_prompts(self) -> Any: ...
        async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...

        async def list_tools(self, *_: Any) -> list[Any]:
            schema = {"type": "object", "properties": {"order": {"type": "string"}}}
            return [types.Tool(name="look", description="Look.", inputSchema=schema)]

        async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:
            WORLD.append(f"{tool_name} {arguments} {meta}")
            return types.CallToolResult(content=[types.TextContent(type="text", text="paid once")])

    def make() -> Any:
        model = testing.ScriptedModel([calls(("look", {"order": "A"})), says("done")])
        return agents.Agent(name="triage", model=model, mcp_servers=[Books()])

    run = ran(target_of(make, tools=False), "service:look[1]@triage lost_response")

    assert WORLD == ["look {'order': 'A'} None"]
    assert "An error occurred" in asked(run, 1)
    assert "paid once" in asked(ran(target_of(make, tools=False)), 1)


# ---------------------------------------------------------------------- bad input


def test_an_unknown_tool_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'refund'"):
        through_doors(UntracedRun(Task("default")), desk([]), effects={"refunds": effect("order")})


def test_names_that_stand_for_two_are_refused() -> None:
    run = UntracedRun(Task("default"))
    tool = agents.function_tool(refund)
    with pytest.raises(TargetError, match="two tools of 'a' are called 'refund'"):
        through_doors(run, agents.Agent(name="a", tools=[tool, agents.function_tool(refund)]))
    with pytest.raises(TargetError, match="two agents are called 'a'"):
        through_doors(run, agents.Agent(name="a", handoffs=[agents.Agent(name="a")]))


def test_a_tool_that_is_an_agent_without_doors_is_refused() -> None:
    clerk = agents.Agent(name="clerk", model=testing.ScriptedModel([]))
    with pytest.raises(TargetError, match="whose calls cross no doors"):
        through_doors(UntracedRun(Task("default")), agents.Agent(name="boss", tools=[clerk.as_tool("clerk", "Pays.")]))


def test_a_plain_function_that_would_run_the_sdk_synchronously_is_refused() -> None:
    @target
    def running(task: Task, run: Run) -> Outcome:
        doors = through_doors(run, desk([says("Hello.")]))
        return Outcome(agents.Runner.run_sync(doors.agent, task.input, run_config=doors.run_config).final_output)

    with pytest.raises(TargetError, match=r"make the target an `async def`\. Write `await Runner\.run\(\.\.\.\)`"):
        execute(Experiment(running, running.task("default"), SystemConfig(), 1), parse(""))


def test_a_history_at_the_server_is_refused() -> None:
    session = agents.OpenAIConversationsSession(conversation_id="conv_1", openai_client=object())
    with pytest.raises(TargetError, match="at the server"):
        through_doors(UntracedRun(Task("default")), desk([])).session(session)


def test_nothing_of_the_sdk_is_traced_in_a_study_and_outside_what_is_configured() -> None:
    seen: list[bool] = []

    @target
    async def looking(_: Task, run: Run) -> Outcome:
        seen.append(through_doors(run, desk([])).run_config.tracing_disabled)
        return Outcome("done", success=True)

    execute(Experiment(looking, looking.task("default"), SystemConfig(), 1), parse(""))
    run, switched_off = UntracedRun(Task("default")), agents.RunConfig(tracing_disabled=True)

    assert seen == [True]
    assert not through_doors(run, desk([])).run_config.tracing_disabled
    assert through_doors(run, desk([]), run_config=switched_off).run_config.tracing_disabled


def test_the_readme_shows_how(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^```python title=frameworks/with_openai_agents\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.triage = desk([calls(READ), says("It is lost.")])
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(compile(found[1], "README.md", "exec"), names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), 1), parse("")).trace

    assert trace.outcome.message == "It is lost."
    assert "service:get_order" in [step.interface for step in trace.steps]
    assert len([line for line in found[1].splitlines() if line]) <= 12
