"""Retrievers, key-value stores and all that a checkpointer can do, behind doors."""

# ruff: noqa: E402  # nothing of it can be imported where the framework is missing

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.langgraph, pytest.mark.slow]
pytest.importorskip("langchain", reason="needs the extra langgraph")

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import InMemoryStore as KeyValues
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from chaosagent.adapters.langgraph import through_doors
from chaosagent.adapters.langgraph.doors import LangGraphDoors
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.dry import unpack_request, unpack_response
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Outcome, SystemConfig, Task

Play = Callable[[LangGraphDoors], Any]


def _run(play: Play, schedule: str = "") -> Trace:
    @target
    async def agent(_: Task, run: Run) -> Outcome:
        return Outcome(str(await play(through_doors(run))), success=True)

    experiment = Experiment(agent, agent.task("default"), SystemConfig(), seed=1)
    trace = execute(experiment, parse(schedule)).trace
    served = serve(experiment, trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == trace.digest
    return trace


class Shelf(BaseRetriever):  # type: ignore[misc]  # LangChain is not in every checkout
    """Has three documents: one with an id of its own, one with an id that a store drew, one without."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [
            Document(f"first on {query}", id="policy-1", metadata={"year": 2024}),
            Document("second", id=str(uuid.uuid4())),
            Document("third"),
        ]


class QuickShelf(Shelf):
    """The same, asynchronous."""

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        await asyncio.sleep(1)
        return self._get_relevant_documents(query)


def _reading(shelf: BaseRetriever, *, in_a_thread: bool = False) -> Play:
    async def play(doors: LangGraphDoors) -> str:
        retriever = doors.retriever(shelf, "shelf", "desk")
        if in_a_thread:
            found = await asyncio.to_thread(retriever.invoke, "refunds")
        else:
            found = await retriever.ainvoke("refunds")
        return str([(one.page_content, one.metadata) for one in found])

    return play


@pytest.mark.parametrize("shelf", [Shelf(), QuickShelf()])
def test_a_retriever_crosses_with_its_documents(shelf: Any) -> None:
    trace = _run(_reading(shelf))
    (step,) = trace.steps

    assert (step.hook, step.operation) == ("retrieval:shelf[1]@desk", "search")
    told: Any = unpack_response(step.response).value
    assert [one["id"] for one in told] == ["policy-1", "document-behind-1", "document-at-3"]
    assert trace.outcome.message == "[('first on refunds', {'year': 2024}), ('second', {}), ('third', {})]"
    assert _run(_reading(shelf, in_a_thread=True)).digest == _run(_reading(Shelf(), in_a_thread=True)).digest


def test_what_is_injected_into_a_retriever_is_what_the_agent_reads() -> None:
    assert _run(_reading(Shelf()), "retrieval:shelf[1]@desk empty").outcome.message == "[]"
    shuffled = _run(_reading(Shelf()), "retrieval:shelf[1]@desk perturb_ranking").outcome.message
    assert shuffled != _run(_reading(Shelf())).outcome.message
    assert all(text in shuffled for text in ("first", "second", "third"))


def test_a_key_value_store_is_reached_key_by_key() -> None:
    async def play(doors: LangGraphDoors) -> str:
        store = doors.key_values(KeyValues(), "notes")
        await store.amset([("a", {"n": 1}), ("b", Document("text"))])
        read = await store.amget(["a", "b", "c"])
        await asyncio.to_thread(store.mdelete, ["a"])
        left = [key async for key in store.ayield_keys()]
        return f"{read[0]} {read[1].page_content} {read[2]} {left}"

    trace = _run(play)
    lost = _run(play, "memory:notes[1] lost_update")

    assert trace.outcome.message == "{'n': 1} text None ['b']"
    assert [step.operation for step in trace.steps] == [
        "write", "write", "read", "read", "read", "delete", "keys",
    ]  # fmt: skip
    assert lost.outcome.message == "None text None ['b']"


def _graph(doors: LangGraphDoors) -> Any:
    """Return a graph with a graph inside of it, each of which keeps checkpoints, and a door before the checkpointer."""

    def say(text: str) -> Any:
        return lambda _: {"messages": [("ai", text)]}

    inner: Any = StateGraph(MessagesState)
    inner.add_node("inside", say("inside"))
    inner.add_edge(START, "inside")
    outer: Any = StateGraph(MessagesState)
    outer.add_node("before", say("before"))
    outer.add_node("child", inner.compile(checkpointer=True))
    outer.add_edge(START, "before")
    outer.add_edge("before", "child")
    return outer.compile(checkpointer=doors.checkpointer(InMemorySaver()))


def _told(history: list[Any]) -> list[Any]:
    return [
        (one.config["configurable"]["thread_id"], one.config["configurable"]["checkpoint_ns"].partition(":")[0])
        for one in history
    ]


def test_a_history_is_told_from_a_checkpoint_on_and_with_the_graph_it_belongs_to() -> None:
    async def play(doors: LangGraphDoors) -> str:
        graph, config = _graph(doors), {"configurable": {"thread_id": "t/1"}}
        await graph.ainvoke({"messages": [("user", "hello")]}, config)
        saver = graph.checkpointer
        whole = [one async for one in saver.alist(None)]
        place: Any = {"configurable": {"thread_id": "t/1", "checkpoint_ns": ""}}
        outer = [one async for one in saver.alist(place)]
        earlier = [one async for one in saver.alist(place, before=outer[0].config)]
        is_rest = [one.checkpoint["id"] for one in earlier] == [one.checkpoint["id"] for one in outer[1:]]
        return f"{sorted(set(_told(whole)))} {len(outer) > 1 and is_rest}"

    trace = _run(play)
    asked: list[Any] = [unpack_request(step.request).arguments for step in trace.steps if step.operation == "history"]

    assert trace.outcome.message == "[('t/1', ''), ('t/1', 'child')] True"
    assert ["before" in one for one in asked] == [False, False, True]


def test_a_thread_is_copied_pruned_and_forgotten_through_the_door() -> None:
    class Whole(InMemorySaver):  # type: ignore[misc]  # as above
        """Can also do what the one of LangGraph leaves to others."""

        done: list[str]

        async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
            self.done.append(f"copy {source_thread_id} {target_thread_id}")

        async def adelete_for_runs(self, run_ids: Any) -> None:
            self.done.append(f"forget {len(run_ids)}")

        async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
            self.done.append(f"prune {thread_ids} {strategy}")

    seen: list[list[str]] = []

    async def play(doors: LangGraphDoors) -> str:
        kept = Whole()
        kept.done = []
        seen.append(kept.done)
        saver = doors.checkpointer(kept)
        await saver.acopy_thread("a", "b")
        await saver.adelete_for_runs([str(uuid.uuid4())])
        await asyncio.to_thread(saver.prune, ["a"], strategy="delete")
        await saver.adelete_thread("b")
        return "done"

    trace = _run(play)

    assert [step.operation for step in trace.steps] == ["copy", "delete_runs", "prune", "delete"]
    assert seen[0] == ["copy a b", "forget 1", "prune ['a'] delete"]
    assert seen[1] == []  # an exact replay reaches nothing
