"""Failures of models as their clients raise them, and answers that are streamed."""

# ruff: noqa: E402  # nothing of it can be imported where the framework is missing

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import pytest

pytestmark = [pytest.mark.langgraph, pytest.mark.slow]
pytest.importorskip("langchain", reason="needs the extra langgraph")

from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from chaosagent.adapters.core.client_errors import AS_THEY_ARE
from chaosagent.adapters.langgraph import through_doors
from chaosagent.adapters.langgraph.doors import LangGraphDoors
from chaosagent.adapters.langgraph.errors import errors_of
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Outcome, SystemConfig, Task

STALLED = "model:chat[1] slow(kind=stalled)"
Play = Callable[[LangGraphDoors], Any]


class Talking(BaseChatModel):  # type: ignore[misc]  # LangChain is not in every checkout
    """Says something, after it has raised what it is to raise."""

    raised: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "talking"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:  # noqa: ARG002  # as LangChain calls it
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:  # noqa: ARG002
        if self.raised:
            raise self.raised.pop(0)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("It is on its way."))])


def model_of(package: str, *raised: Exception) -> Any:
    """Return a model as LangChain's package for a provider would have it."""
    return type("Chat", (Talking,), {"__module__": f"{package}.chat_models.base"})(raised=list(raised))


def _run(play: Play, schedule: str = "", **said: Any) -> Trace:
    @target
    async def agent(_: Task, run: Run) -> Outcome:
        return Outcome(str(await play(through_doors(run, **said))), success=True)

    experiment = Experiment(agent, agent.task("default"), SystemConfig(), seed=1)
    trace = execute(experiment, parse(schedule)).trace
    served = serve(experiment, trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == trace.digest
    return trace


def _catching(make: Callable[[], Any]) -> tuple[Play, list[Any]]:
    """Return what asks a model and what it keeps: the exceptions, of the run and then of its replay."""
    seen: list[Any] = []

    async def play(doors: LangGraphDoors) -> str:
        try:
            return str((await doors.model(make()).ainvoke("hello")).text)
        except Exception as error:
            seen.append(error)
            return "failed"

    return play, seen


@pytest.mark.parametrize(("package", "client"), [("langchain_openai", "openai"), ("langchain_anthropic", "anthropic")])
def test_a_model_that_does_not_answer_fails_as_its_client_would(package: str, client: str) -> None:
    errors: Any = pytest.importorskip(client)
    play, seen = _catching(lambda: model_of(package))

    assert _run(play, STALLED).outcome.message == "failed"
    assert len(seen) == 2
    assert all(isinstance(one, errors.APITimeoutError) and isinstance(one, TimeoutError) for one in seen)


@pytest.mark.parametrize(("package", "client"), [("langchain_openai", "openai"), ("langchain_anthropic", "anthropic")])
@pytest.mark.parametrize(("status", "name"), [(429, "RateLimitError"), (500, "InternalServerError")])
def test_a_status_is_raised_as_the_client_does_also_in_a_replay(
    package: str, client: str, status: int, name: str
) -> None:
    errors, http = pytest.importorskip(client), import_module("httpx2")
    response = http.Response(status, headers={"retry-after": "7"}, request=http.Request("POST", "http://model"))
    raised = errors.APIStatusError("busy", response=response, body=None)
    play, seen = _catching(lambda: model_of(package, raised))

    _run(play)

    assert {(type(one).__name__, one.status_code, one.response.headers["retry-after"]) for one in seen} == {
        (name, status, "7")
    }
    assert all(isinstance(one, getattr(errors, name)) for one in seen)


def test_a_broken_connection_is_both_the_clients_and_pythons() -> None:
    openai, http = pytest.importorskip("openai"), import_module("httpx2")
    raised = openai.APIConnectionError(request=http.Request("POST", "http://model"))
    play, seen = _catching(lambda: model_of("langchain_openai", raised))

    _run(play)

    assert len(seen) == 2
    assert all(isinstance(one, openai.APIConnectionError) and isinstance(one, ConnectionError) for one in seen)


def test_a_model_of_ones_own_fails_as_python_does_and_its_exceptions_are_its_own() -> None:
    play, seen = _catching(Talking)
    _run(play, STALLED)
    own, raised = _catching(lambda: Talking(raised=[LookupError("nothing")]))
    _run(own)

    assert errors_of(Talking()) is AS_THEY_ARE
    assert [type(one) for one in seen] == [TimeoutError, TimeoutError]
    assert [type(one) for one in raised] == [LookupError, LookupError]


def test_a_retry_on_the_clients_exception_knows_an_injected_one() -> None:
    openai: Any = pytest.importorskip("openai")

    def asking(kind: type[Exception]) -> Play:
        async def play(doors: LangGraphDoors) -> str:
            again = ModelRetryMiddleware(max_retries=1, retry_on=(kind,), on_failure="continue", jitter=False)
            agent = doors.create_agent(model_of("langchain_openai"), [], middleware=[again])
            return str((await agent.ainvoke({"messages": [("user", "hello")]}))["messages"][-1].text)

        return play

    answered = _run(asking(openai.APITimeoutError), STALLED)

    assert answered.outcome.message == "It is on its way."
    assert [step.hook for step in answered.steps] == ["model:chat[1]", "model:chat[1.1]"]


async def _streamed(doors: LangGraphDoors) -> str:
    agent = doors.create_agent(Talking(), [])
    parts: list[str] = []
    async for chunk, _ in agent.astream({"messages": [("user", "hello")]}, stream_mode="messages"):
        parts.append(str(chunk.text))
    return "".join(parts)


def test_an_agent_that_is_streamed_gets_its_answer_and_a_broken_stream_is_broken() -> None:
    whole = _run(_streamed)
    broken = _run(_streamed, "model:chat[1] truncated_stream(share=0.75)")

    assert whole.outcome.message == "It is on its way."
    assert [step.hook for step in whole.steps] == ["model:chat[1]"]
    assert broken.outcome.message == "It is"


def test_a_model_that_is_streamed_crosses_as_a_whole() -> None:
    async def play(doors: LangGraphDoors) -> str:
        return "|".join([str(chunk.text) async for chunk in doors.model(Talking()).astream("hello")])

    assert "".join(_run(play).outcome.message.split("|")) == "It is on its way."
    assert _run(play, "model:chat[1] truncated_stream(share=0.75)").outcome.message.replace("|", "") == "It is"
