"""Agents of LangChain and graphs of LangGraph, with doors before model, tools, memory and hand-overs."""

# ruff: noqa: E402  # nothing of it can be imported where the framework is missing

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest

pytestmark = [pytest.mark.langgraph, pytest.mark.slow]
pytest.importorskip("langchain", reason="needs the extra langgraph")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware, ToolRetryMiddleware
from langchain.tools import ToolRuntime
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from chaosagent import Run, Target, effect, target
from chaosagent.adapters.langgraph import through_doors
from chaosagent.adapters.langgraph.doors import LangGraphDoors
from chaosagent.errors import TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Outcome, SystemConfig, Task


class Scripted(BaseChatModel):
    """Asks for some calls, and says in the end what it was told."""

    calls: list[list[tuple[str, dict[str, Any]]]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **options)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # as LangChain calls it
        run_manager: Any = None,  # noqa: ARG002
        **options: Any,  # noqa: ARG002
    ) -> ChatResult:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        told = [str(message.text) for message in messages if isinstance(message, ToolMessage)]
        if turn < len(self.calls):
            calls = [{"name": name, "args": args, "id": os.urandom(4).hex()} for name, args in self.calls[turn]]
            message = AIMessage("let me see", tool_calls=calls, response_metadata={"finish_reason": "tool_calls"})
        else:
            message = AIMessage(" | ".join(told) or "nothing")
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def get_order(order: int) -> dict[str, Any]:
    """Read an order."""
    return {"order": order, "amount": 40}


@tool
async def refund(order: int, note: str = "") -> str:
    """Pay a customer back."""
    await asyncio.sleep(2)
    return f"paid {order}{note}"


BOTH = [[("get_order", {"order": 7}), ("refund", {"order": 7})]]

Ask = Callable[[LangGraphDoors], Any]


class Amount(BaseModel):
    """What a tool may return."""

    amount: int


def _target(play: Ask, **said: Any) -> Target:
    @target
    async def agent(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, **said)
        return Outcome(str(await play(doors)), success=True)

    return agent


def _experiment(play: Ask, **said: Any) -> Experiment:
    system = _target(play, **said)
    return Experiment(system, system.task("default"), SystemConfig(), seed=1)


def _run(play: Ask, schedule: str = "", **said: Any) -> Trace:
    """Run an agent under a schedule, and again from what the trace holds: it must be the same trace."""
    experiment, delta = _experiment(play, **said), parse(schedule) if schedule else EMPTY
    trace = execute(experiment, delta).trace
    served = serve(experiment, trace, delta)
    assert served.difference is None
    assert served.execution.trace.digest == trace.digest
    return trace


def _agent(tools: Sequence[Any] = (get_order, refund), calls: Any = BOTH, **options: Any) -> Ask:
    async def play(doors: LangGraphDoors) -> str:
        agent = doors.create_agent(Scripted(calls=calls), list(tools), **options)
        answer = await agent.ainvoke({"messages": [("user", "Where is my money?")]})
        return str(answer["messages"][-1].text)

    return play


def _where(trace: Trace) -> list[str]:
    return [f"{step.interface} {step.operation}" for step in trace.steps]


def test_model_tools_and_their_list_cross_and_commit() -> None:
    trace = _run(_agent(), effects={"refund": effect("order")}, read_only=["get_order"])

    assert trace.outcome.message == '{"amount": 40, "order": 7} | paid 7'
    assert _where(trace) == [
        "tools:toolbox list",
        "model:chat complete",
        "service:get_order call",
        "service:refund call",
        "model:chat complete",
    ]
    assert [(made.kind, made.identity) for made in trace.effects] == [("refund.call", {"order": 7})]
    links = {tuple(link) for step in trace.steps for link in step.links}
    assert ("service:refund[1]", "derived_from", "model:chat[1]") in links


def test_two_agents_at_work_have_links_of_their_own() -> None:
    async def play(doors: LangGraphDoors) -> str:
        given: Any = {"messages": [("user", "hello")]}
        calls = [[("refund", {"order": 1})]]
        both = [doors.create_agent(Scripted(calls=calls), [refund], name=name) for name in ("a", "b")]
        return str(len(await asyncio.gather(*(agent.ainvoke(given) for agent in both))))

    links = {(link.source, link.target) for step in _run(play).steps for link in step.links}

    assert {("service:refund[1]@a", "model:chat[1]@a"), ("service:refund[1]@b", "model:chat[1]@b")} <= links
    assert all(source[-1] == to[-1] for source, to in links)


def test_the_trace_is_the_same_in_every_process() -> None:
    code = (
        "import importlib.util, sys; spec = importlib.util.spec_from_file_location('those', sys.argv[1]);"
        "those = importlib.util.module_from_spec(spec); sys.modules['those'] = those; spec.loader.exec_module(those);"
        "print(those.everything_at_once())"
    )
    digests = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, __file__],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        digests.add(done.stdout)

    assert len(digests) == 1


def everything_at_once() -> str:
    """Return the digest of a run in which everything crosses that can."""

    @tool
    def note(text: str, runtime: ToolRuntime) -> str:
        """Write a note."""
        runtime.store.put(("notes",), "last", {"text": text, "of": {"a", "b", "c"}})
        return str(sorted(runtime.store.get(("notes",), "last").value["of"]))

    async def play(doors: LangGraphDoors) -> str:
        calls = [[("note", {"text": "x"}), ("get_order", {"order": 1}), ("refund", {"order": 1})]]
        agent = doors.create_agent(
            Scripted(calls=calls),
            [note, get_order, refund],
            name="desk",
            store=InMemoryStore(),
            checkpointer=InMemorySaver(),
        )
        where = {"configurable": {"thread_id": "t"}}
        await agent.ainvoke({"messages": [("user", "hello")]}, where)
        answer = await agent.ainvoke({"messages": [("user", "and?")]}, where)
        return str(answer["messages"][-1].text)

    return _run(play).digest


def test_an_exception_of_a_tool_is_met_by_what_langchain_puts_around_it() -> None:
    lost = "service:refund[1] lost_response(when=after)"

    aborted = _run(_agent(), lost)
    retried = _run(
        _agent(middleware=[ToolRetryMiddleware(max_retries=1, initial_delay=1.0, jitter=False)]),
        lost,
        effects={"refund": effect("order")},
    )

    assert aborted.ending is Ending.CRASHED
    assert aborted.ending_detail.startswith("ConnectionError")
    assert [made.kind for made in retried.effects] == ["refund.call", "refund.call"]


def test_handle_tool_errors_of_a_graph_gives_the_error_to_the_model() -> None:
    async def play(doors: LangGraphDoors) -> str:
        tools = doors.tools([get_order, refund])
        model = doors.model(Scripted(calls=BOTH)).bind_tools(tools)

        async def think(state: MessagesState) -> Any:
            return {"messages": [await model.ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode(tools, handle_tool_errors=(ConnectionError,)))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        answer = await graph.compile().ainvoke({"messages": [HumanMessage("hello")]})
        return str(answer["messages"][-1].text)

    told = _run(play, "service:refund[1] lost_response(when=after)").outcome.message
    timed_out = _run(play, "service:refund[1] timeout(when=after)")

    assert "Error: ConnectionError" in told
    assert timed_out.ending is Ending.CRASHED  # not among the errors that are handled


def test_a_tool_exception_is_handled_as_the_tool_says_also_in_a_replay() -> None:
    def fail(order: int) -> str:
        """Fail."""
        raise ToolException(f"no order {order}")

    failing = StructuredTool.from_function(fail, handle_tool_error=True)

    assert _run(_agent([failing], [[("fail", {"order": 3})]])).outcome.message == "no order 3"


def test_the_failure_of_an_agent_behind_a_tool_is_the_same_in_every_run() -> None:
    async def play(doors: LangGraphDoors) -> str:
        inner = doors.create_agent(Scripted(), [], name="inner")

        @tool
        async def ask(question: str) -> str:
            """Ask somebody else."""
            return str(await inner.ainvoke({"messages": [("user", question)]}))

        outer = doors.create_agent(Scripted(calls=[[("ask", {"question": "when?"})]]), [ask], name="outer")
        return str(await outer.ainvoke({"messages": [("user", "hello")]}))

    digests = {_run(play, "model:chat[1]@inner slow(kind=stalled)").digest for _ in range(2)}

    assert len(digests) == 1


class Busy(Exception):
    """What a provider's client raises."""


class Hurried(Scripted):
    """Is busy at first."""

    asked: int = 0

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        self.asked += 1
        if self.asked == 1:
            raise Busy("too many requests")
        return super()._generate(messages, *args, **options)


def test_an_exception_of_a_models_client_is_known_to_a_retry_also_in_a_replay() -> None:
    async def play(doors: LangGraphDoors) -> str:
        again = ModelRetryMiddleware(max_retries=1, retry_on=(Busy,), on_failure="error", jitter=False)
        agent = doors.create_agent(Hurried(), [], middleware=[again])
        answer = await agent.ainvoke({"messages": [("user", "hello")]})
        return str(answer["messages"][-1].text)

    assert _run(play, errors=[Busy]).outcome.message == "nothing"


def test_what_pydantic_refuses_is_told_the_model_also_in_a_replay() -> None:
    @tool
    def price(order: int) -> int:
        """Read a price."""
        return Amount.model_validate({"amount": f"about {order}"}).amount

    altered = _run(_agent(), "message:handoffs[1] corrupted(index=0, kind=null)", handoffs={"get_order": "books"})
    handled = _agent([price], [[("price", {"order": 3})]])

    assert "order: Input should be a valid integer" in altered.outcome.message
    assert "amount: Input should be a valid integer, unable to parse" in _run(handled).outcome.message


def test_a_delay_meets_the_limit_of_a_step() -> None:
    async def play(doors: LangGraphDoors) -> str:
        agent = doors.create_agent(Scripted(calls=BOTH), [get_order, refund])
        agent.step_timeout = 10
        answer = await agent.ainvoke({"messages": [("user", "hello")]})
        return str(answer["messages"][-1].text)

    in_time = execute(_experiment(play), EMPTY).trace
    late = execute(_experiment(play), parse("service:refund[1] delay(seconds=60)")).trace

    assert in_time.ending is Ending.FINISHED
    assert late.ending is Ending.CRASHED
    assert late.ending_detail.startswith("TimeoutError")


def test_an_altered_answer_is_what_the_model_reads() -> None:
    trace = _run(_agent(), "service:get_order[1] field_corruption(kind=zero, field=amount)")

    assert trace.outcome.message == '{"amount": 0, "order": 7} | paid 7'


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("refusal", "I'm sorry, but I can't help with that."),
        ("malformed_tool_call", "arguments were malformed or truncated. | paid 7"),
        ("malformed_tool_call(kind=missing_argument)", "order: Field required\n Please fix the error and try again."),
        ("malformed_tool_call(kind=unknown_tool)", "Error: get_order_v2 is not a valid tool, try one of"),
    ],
)
def test_an_altered_answer_of_a_model_is_met_by_the_framework(fault: str, told: str) -> None:
    assert told in _run(_agent(), f"model:chat[1] {fault}").outcome.message


def test_parallel_tools_ask_in_the_order_of_the_message() -> None:
    order: list[int] = []

    @tool
    def mark(place: int) -> str:
        """Mark."""
        order.append(place)
        return str(place)

    calls = [[("mark", {"place": place}) for place in range(12)]]
    for _ in range(5):
        order.clear()
        trace = execute(_experiment(_agent([mark], calls)), EMPTY).trace
        assert order == list(range(12))
        assert trace.outcome.message == " | ".join(str(place) for place in range(12))


def test_a_store_is_reached_through_doors() -> None:
    async def play(doors: LangGraphDoors) -> str:
        store = doors.store(InMemoryStore())
        await store.aput(("notes", "anna"), "diet", {"is": "vegan"})
        await store.aput(("notes", "anna"), "diet", {"is": "none"})
        found = await store.aget(("notes", "anna"), "diet")
        names = await store.alist_namespaces()
        items = await store.asearch(("notes",))
        await store.adelete(("notes", "anna"), "diet")
        gone = await store.aget(("notes", "anna"), "diet")
        return f"{found and found.value} {names} {[(one.key, one.value) for one in items]} {gone}"

    fresh, stale = _run(play), _run(play, "memory:store[3] stale_read")

    assert fresh.outcome.message == "{'is': 'none'} [('notes', 'anna')] [('diet', {'is': 'none'})] None"
    assert stale.outcome.message.startswith("{'is': 'vegan'}")


def test_a_key_of_a_store_may_hold_the_sign_between_its_parts() -> None:
    places = [(("users", "a/b"), "x/y"), (("users", "a"), "b/x/y"), (("users", "a%2Fb"), "100%")]

    async def play(doors: LangGraphDoors) -> str:
        store = doors.store(InMemoryStore())
        for number, (namespace, key) in enumerate(places):
            await store.aput(namespace, key, {"number": number})
        found = await store.asearch(("users",))
        return str(sorted((one.value["number"], one.namespace, one.key) for one in found))

    trace = _run(play)

    assert trace.outcome.message == str([(number, *place) for number, place in enumerate(places)])
    keys = [unpack_request(step.request).arguments["key"] for step in trace.steps if step.operation == "write"]
    assert len(set(keys)) == len(places)


def test_a_lost_checkpoint_is_forgotten_and_a_stale_one_is_older() -> None:
    async def play(doors: LangGraphDoors) -> str:
        agent = doors.create_agent(Scripted(), [], checkpointer=InMemorySaver())
        where: Any = {"configurable": {"thread_id": "t"}}
        await agent.ainvoke({"messages": [("user", "one")]}, where)
        answer = await agent.ainvoke({"messages": [("user", "two")]}, where)
        return " ".join(str(message.content) for message in answer["messages"])

    whole = _run(play)
    reads = [step for step in whole.steps if step.operation == "read"]
    stale = _run(play, f"memory:checkpoints[{reads[1].occurrence}]@graph stale_read")

    assert whole.outcome.message == "one nothing two nothing"
    assert stale.outcome.message != whole.outcome.message


def test_a_run_goes_on_from_an_interrupt() -> None:
    @tool
    def ask_human(question: str) -> str:
        """Ask a human."""
        return f"human: {interrupt({'asked': question})}"

    async def play(doors: LangGraphDoors) -> str:
        calls = [[("ask_human", {"question": "may I?"})]]
        agent = doors.create_agent(Scripted(calls=calls), [ask_human], checkpointer=InMemorySaver())
        where: Any = {"configurable": {"thread_id": "t"}}
        stopped = await agent.ainvoke({"messages": [("user", "go")]}, where)
        answer = await agent.ainvoke(Command(resume="yes"), where)
        return f"{stopped['__interrupt__'][0].value} {answer['messages'][-1].text}"

    assert _run(play).outcome.message == "{'asked': 'may I?'} human: yes"


def _team(doors: LangGraphDoors) -> Any:
    clerk = doors.create_agent(Scripted(calls=[[("refund", {"order": 7})]]), [refund], name="clerk")

    @tool
    async def ask_clerk(what: str) -> str:
        """Ask the clerk."""
        answer = await clerk.ainvoke({"messages": [("user", what)]})
        return str(answer["messages"][-1].text)

    return doors.create_agent(Scripted(calls=[[("ask_clerk", {"what": "pay"})]]), [ask_clerk], name="desk")


async def _teamwork(doors: LangGraphDoors) -> str:
    answer = await _team(doors).ainvoke({"messages": [("user", "pay me")]})
    return str(answer["messages"][-1].text)


def test_work_is_handed_over_by_message() -> None:
    said: dict[str, Any] = {"handoffs": {"ask_clerk": "clerk"}, "effects": {"refund": effect("order")}}

    nominal = _run(_teamwork, **said)
    dropped = _run(_teamwork, "message:handoffs[1]@desk drop", **said)
    twice = _run(_teamwork, "message:handoffs[1]@desk duplicate", **said)

    assert nominal.outcome.message == "paid 7"
    assert {step.agent for step in nominal.steps} == {"desk", "clerk"}
    assert dropped.outcome.message == "Successfully transferred to clerk"
    assert [len(trace.effects) for trace in (nominal, dropped, twice)] == [1, 0, 2]


def test_a_command_that_hands_over_comes_back_as_it_was() -> None:
    class State(MessagesState):
        seen: Annotated[list[AnyMessage], add_messages]

    @tool
    def transfer(runtime: ToolRuntime) -> Any:
        """Hand over."""
        told = ToolMessage("handed over", tool_call_id=runtime.tool_call_id)
        return Command(goto="clerk", graph=Command.PARENT, update={"messages": [*runtime.state["messages"], told]})

    async def play(doors: LangGraphDoors) -> str:
        graph = StateGraph(State)
        desk = doors.create_agent(Scripted(calls=[[("transfer", {})]]), [transfer], name="desk")
        clerk = doors.create_agent(Scripted(calls=[[], [("refund", {"order": 1})]]), [refund], name="clerk")
        graph.add_node("desk", desk, destinations=("clerk",))
        graph.add_node("clerk", clerk)
        graph.add_edge(START, "desk")
        answer = await graph.compile().ainvoke({"messages": [("user", "pay me")]})
        return str(answer["messages"][-1].text)

    trace = _run(play, handoffs={"transfer": "clerk"})
    dropped = _run(play, "message:handoffs[1]@desk drop", handoffs={"transfer": "clerk"})

    assert trace.outcome.message == "handed over | paid 1"
    assert [step.agent for step in trace.steps if step.interface == "service:refund"] == ["clerk"]
    assert dropped.outcome.message == "Successfully transferred to clerk"


def test_a_graph_without_asynchrony_runs_in_a_thread() -> None:
    async def play(doors: LangGraphDoors) -> str:
        agent = doors.create_agent(Scripted(calls=BOTH), [get_order, _sync_refund], store=InMemoryStore())
        given: Any = {"messages": [("user", "hello")]}
        answer = await asyncio.to_thread(agent.invoke, given, {"max_concurrency": 1})
        return str(answer["messages"][-1].text)

    trace = _run(play)
    late = _run(play, "service:refund[1] timeout")

    assert trace.outcome.message == '{"amount": 40, "order": 7} | paid 7'
    assert late.ending_detail.startswith("TimeoutError")


@tool("refund")
def _sync_refund(order: int) -> str:
    """Pay a customer back."""
    return f"paid {order}"


def test_outside_a_study_the_same_agent_works_and_nothing_is_recorded() -> None:
    system = _target(_agent(store=InMemoryStore(), checkpointer=None), effects={"refund": effect("order")})
    fast = _target(_agent([get_order, _sync_refund]))

    for one in (system, fast):
        outcome = asyncio.run(one.run(Task("default"), UntracedRun(Task("default"))))
        assert outcome.message == '{"order": 7, "amount": 40} | paid 7'


def test_a_run_without_asynchrony_outside_a_study() -> None:
    doors = through_doors(UntracedRun(Task("default"), synchronous=True))
    agent = doors.create_agent(Scripted(calls=BOTH), [get_order, _sync_refund], store=InMemoryStore())

    answer = agent.invoke({"messages": [("user", "hello")]})

    assert answer["messages"][-1].text == '{"order": 7, "amount": 40} | paid 7'


def test_nothing_is_left_patched() -> None:
    model, tools = Scripted(calls=BOTH), [get_order, refund]
    kinds = (BaseChatModel, BaseTool, StructuredTool, ToolNode, Scripted)
    before = [dict(vars(kind)) for kind in kinds], [dict(vars(one)) for one in tools], dict(vars(model))

    async def play(doors: LangGraphDoors) -> str:
        agent = doors.create_agent(model, tools)
        return str((await agent.ainvoke({"messages": [("user", "hello")]}))["messages"][-1].text)

    _run(play, "service:refund[1] timeout")

    after = [dict(vars(kind)) for kind in kinds], [dict(vars(one)) for one in tools], dict(vars(model))
    for was, now in zip(before[0], after[0], strict=True):
        functions = [name for name, value in was.items() if callable(value)]
        assert set(was) == set(now)
        assert functions
        assert all(was[name] is now[name] for name in functions)
    assert after[1:] == before[1:]
    plainly = asyncio.run(create_agent(model, tools).ainvoke({"messages": [("user", "hello")]}))
    assert plainly["messages"][-1].text == '{"order": 7, "amount": 40} | paid 7'


def test_what_is_said_of_an_unknown_tool_names_the_nearest() -> None:
    for said in ({"effects": {"refunds": effect("order")}}, {"handoffs": {"refunds": "clerk"}}):
        with pytest.raises(TargetError, match=r"unknown tool 'refunds'. Did you mean 'refund'?"):
            execute(_experiment(_agent(), **said), EMPTY)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(TargetError, match="two tools are called 'refund'"):
        execute(_experiment(_agent([refund, _sync_refund])), EMPTY)


def test_what_cannot_be_made_again_is_refused_unless_its_class_is_named() -> None:
    class Money:
        pass

    @tool
    def pay(amount: int = 0) -> Any:
        """Pay."""
        return Amount(amount=amount) if amount else Money()

    with pytest.raises(TargetError, match=r"Money crosses a door .* could not be made again in a replay"):
        execute(_experiment(_agent([pay], [[("pay", {})]])), EMPTY)

    trace = _run(_agent([pay], [[("pay", {"amount": 4})]]), types=[Amount])
    assert trace.outcome.message == "amount=4"


def test_the_readme_shows_how(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^```python title=frameworks/with_langgraph\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.get_order, mine.refund, mine.model = get_order, refund, Scripted(calls=BOTH)
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(compile(found[1], "README.md", "exec"), names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), seed=1), EMPTY).trace

    assert trace.outcome.message == '{"amount": 40, "order": 7} | paid 7'
    assert [made.kind for made in trace.effects] == ["refund.call"]
    assert len([line for line in found[1].splitlines() if line]) <= 12
