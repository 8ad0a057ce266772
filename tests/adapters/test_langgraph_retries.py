"""Retries of LangChain and LangGraph are attempts of one call, and conversations at the same time have own links."""

# ruff: noqa: E402  # nothing of it can be imported where the framework is missing

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytestmark = [pytest.mark.langgraph, pytest.mark.slow]
pytest.importorskip("langchain", reason="needs the extra langgraph")

from langchain.agents.middleware import ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import RetryPolicy

from chaosagent.adapters.langgraph import through_doors
from chaosagent.adapters.langgraph.doors import LangGraphDoors
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Outcome, SystemConfig, Task

LOST = "service.lost_response(when=before)"


class Busy(BaseChatModel):  # type: ignore[misc]  # LangChain is not in every checkout
    """Fails the first times it is asked, then calls `work` once for each conversation."""

    failures: int = 0

    @property
    def _llm_type(self) -> str:
        return "busy"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:  # noqa: ARG002  # as LangChain calls it
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("reset")
        calls = [{"name": "work", "args": {"order": str(messages[0].text)}, "id": os.urandom(4).hex()}]
        is_told = any(isinstance(message, ToolMessage) for message in messages)
        answer = AIMessage("done") if is_told else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool  # type: ignore[untyped-decorator]  # as above
async def work(order: str) -> str:
    """Do something."""
    await asyncio.sleep(int(order[-1]))
    return "worked"


def _run(play: Callable[[LangGraphDoors], Any], schedule: str = "") -> Trace:
    @target
    async def agent(_: Task, run: Run) -> Outcome:
        return Outcome(str(await play(through_doors(run, errors=[ConnectionError]))), success=True)

    experiment = Experiment(agent, agent.task("default"), SystemConfig(), seed=1)
    trace = execute(experiment, parse(schedule)).trace
    served = serve(experiment, trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == trace.digest
    return trace


def _agent(*orders: str, failures: int = 0, again: Sequence[Any] = ()) -> Callable[[LangGraphDoors], Any]:
    async def play(doors: LangGraphDoors) -> str:
        agent = doors.create_agent(Busy(failures=failures), [work], middleware=again)
        asked: list[Any] = [agent.ainvoke({"messages": [("user", order)]}) for order in orders]
        return " ".join(str(told["messages"][-1].text) for told in await asyncio.gather(*asked))

    return play


def _hooks(trace: Trace, interface: str) -> list[str]:
    return [step.hook for step in trace.steps if step.interface == interface]


def test_a_retry_of_a_tool_is_an_attempt() -> None:
    again = [ToolRetryMiddleware(jitter=False)]
    trace = _run(_agent("order 1", again=again), f"service:work[1] {LOST}; service:work[1.1] {LOST}")

    assert _hooks(trace, "service:work") == ["service:work[1]", "service:work[1.1]", "service:work[1.2]"]
    assert trace.outcome.message == "done"


def test_a_retry_of_a_model_is_an_attempt_and_the_next_turn_another_call() -> None:
    again = [ModelRetryMiddleware(max_retries=2, jitter=False)]
    trace = _run(_agent("order 1", failures=2, again=again))

    assert _hooks(trace, "model:chat") == ["model:chat[1]", "model:chat[1.1]", "model:chat[1.2]", "model:chat[2]"]


def test_another_conversation_makes_another_call() -> None:
    async def twice(doors: LangGraphDoors) -> str:
        play = _agent("order 1")
        return f"{await play(doors)} {await play(doors)}"

    assert _hooks(_run(twice), "service:work") == ["service:work[1]", "service:work[2]"]


def test_a_node_that_is_run_again_makes_attempts() -> None:
    async def play(doors: LangGraphDoors) -> str:
        model = doors.model(Busy(failures=1))

        async def ask(state: MessagesState) -> Any:
            return {"messages": [await model.ainvoke(state["messages"])]}

        graph: Any = StateGraph(MessagesState)
        policy = RetryPolicy(max_attempts=3, jitter=False, retry_on=ConnectionError)
        graph.add_node("ask", ask, retry_policy=policy)
        graph.add_edge(START, "ask")
        told = await graph.compile().ainvoke({"messages": [HumanMessage("order 1")]})
        return str(len(told["messages"][-1].tool_calls))

    trace = _run(play)

    assert _hooks(trace, "model:chat") == ["model:chat[1]", "model:chat[1.1]"]
    assert trace.outcome.message == "1"


def test_conversations_of_one_agent_at_the_same_time_have_links_of_their_own() -> None:
    trace = _run(_agent("order 3", "order 1", "order 2"))
    links = {link.source: link.target for step in trace.steps for link in step.links if "work" in link.source}
    asked: dict[str, Any] = {step.hook: unpack_request(step.request).arguments for step in trace.steps}

    assert len(links) == 3
    for called, by in links.items():
        assert asked[by]["messages"][0]["content"] == asked[called]["order"]
