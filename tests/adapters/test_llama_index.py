"""What the conformance suite does not know of LlamaIndex: streams, tools that are no functions, and bad input."""

from __future__ import annotations

import asyncio
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.adapters.llama_index import through_doors
from chaosagent.errors import TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.llama_index,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llama_index") is None, reason="needs the extra llama-index"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # LlamaIndex uses an old name of pydantic's
]
if find_spec("llama_index") is not None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.tools import BaseTool, ToolMetadata, ToolOutput

RUN = UntracedRun(Task("t"))


def _model(*calls: tuple[str, dict[str, Any]]) -> Any:
    """Return a model that makes some calls at once, and then says what the tools said."""

    def policy(messages: Any, **_: Any) -> Any:
        told = [message.content for message in messages if message.role == "tool"]
        if calls and not told:
            made = [ToolCallBlock(tool_call_id=name, tool_name=name, tool_kwargs=given) for name, given in calls]
            return ChatMessage(role="assistant", blocks=made)
        return ChatMessage(role="assistant", blocks=[TextBlock(text=" | ".join(told) or "hello")])

    return MockFunctionCallingLLM(response_generator=policy)


def _target(agent: Any) -> Target:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        return Outcome(str(await through_doors(run, agent).run("Hello?")), success=True)

    return desk


def _executed(system: Target, delta: str = "") -> Execution:
    """Run a target, and see that an exact replay is the same."""
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    schedule = parse(delta) if delta else EMPTY
    execution = execute(experiment, schedule)
    served = serve(experiment, execution.trace, schedule)
    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest
    return execution


def read(order: str, currency: str = "EUR") -> str:
    """Read an order."""
    return f"order {order} in {currency}"


def test_a_streamed_answer_crosses_as_a_whole() -> None:
    system = _target(FunctionAgent(name="clerk", llm=_model(("read", {"order": "7"})), tools=[read], streaming=True))

    trace = _executed(system).trace

    assert trace.outcome.message == "order 7 in EUR"
    assert [step.interface.partition(":")[0] for step in trace.steps] == ["tools", "model", "service", "model"]
    refused = _executed(system, "model:MockFunctionCallingLLM[1]@clerk refusal").trace
    assert refused.outcome.message.startswith("I'm sorry")


def test_a_tool_that_is_no_function_crosses_as_its_text() -> None:
    class Books(BaseTool if find_spec("llama_index") else object):  # type: ignore[misc]  # untyped without the extra
        @property
        def metadata(self) -> Any:
            return ToolMetadata(name="books", description="Look into the books.")

        def __call__(self, input: Any) -> Any:  # noqa: A002  # LlamaIndex's name
            return ToolOutput(tool_name="books", content=f"{input} is paid", raw_input={}, raw_output=None)

    system = _target(FunctionAgent(name="clerk", llm=_model(("books", {"input": "7"})), tools=[Books()]))

    assert _executed(system).trace.outcome.message == "7 is paid"
    lost = _executed(system, "service:books[1]@clerk lost_response").trace
    assert "connection" in lost.outcome.message.lower()


def test_results_are_shown_in_the_order_of_the_calls_whatever_comes_first() -> None:
    async def slow(order: str) -> str:
        """Read slowly."""
        await asyncio.sleep(5)
        return f"slow {order}"

    calls = ("slow", {"order": "1"}), ("read", {"order": "2"})
    trace = _executed(_target(FunctionAgent(name="clerk", llm=_model(*calls), tools=[slow, read]))).trace

    assert [step.interface for step in trace.steps if step.boundary and step.boundary.value == "service"] == [
        "service:read",
        "service:slow",
    ]
    messages: Any = unpack_request(trace.steps[-1].request).arguments["messages"]
    assert [one["additional_kwargs"]["tool_call_id"] for one in messages if one["role"] == "tool"] == [
        "call-1",
        "call-2",
    ]


def test_a_shared_name_another_object_and_a_synchronous_target_are_refused() -> None:
    async def opened(agent: Any) -> None:
        through_doors(RUN, agent)

    with pytest.raises(TargetError, match="two tools are called 'read'"):
        asyncio.run(opened(FunctionAgent(llm=_model(), tools=[read, read])))
    with pytest.raises(TargetError, match="str is no agent of llama_index"):
        asyncio.run(opened("clerk"))
    with pytest.raises(TargetError, match="make the target an `async def`"):
        through_doors(RUN, FunctionAgent(llm=_model()))


def test_a_model_that_is_asked_on_a_way_without_a_door_is_refused() -> None:
    async def asked() -> Any:
        return through_doors(RUN, FunctionAgent(llm=_model())).llm.complete("hello")

    with pytest.raises(TargetError, match="asked by `complete`, which does not cross a door"):
        asyncio.run(asked())


def test_the_readme_shows_how(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_order(order: str) -> str:
        """Read an order."""
        return order

    def refund(order: str) -> str:
        """Pay a customer back."""
        return f"refunded {order}"

    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^```python title=frameworks/with_llama_index\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.support = FunctionAgent(name="clerk", llm=_model(("refund", {"order": "7"})), tools=[get_order, refund])
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(compile(found[1], "README.md", "exec"), names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), 1), EMPTY).trace

    assert trace.outcome.message == "refunded 7"
    assert [effect.identity for effect in trace.effects] == [{"order": "7"}]
