"""The adapter for LlamaIndex passes the conformance suite."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.llama_index import through_doors
from chaosagent.targets.target import Run
from chaosagent.testing.adapters import AdapterConformance
from chaosagent.testing.desk import WISH, Desk

pytestmark = [
    pytest.mark.llama_index,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llama_index") is None, reason="needs the extra llama-index"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # LlamaIndex uses an old name of pydantic's
]
if find_spec("llama_index") is not None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, LLMMetadata, TextBlock, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.tools import FunctionTool


def _model(desk: Desk) -> Any:
    class Scripted(MockFunctionCallingLLM):  # type: ignore[misc]  # untyped where the extra is missing
        @property
        def metadata(self) -> Any:
            return LLMMetadata(is_function_calling_model=True, model_name="scripted")

    def policy(messages: Any, **_: Any) -> Any:
        told = messages[-1].content if messages[-1].role == "tool" else ""
        said = desk.answer(sum(message.role == "assistant" for message in messages), told or "")
        calls = [
            ToolCallBlock(tool_call_id=desk.draw_id(), tool_name=name, tool_kwargs=dict(given))
            for name, given in said.calls
        ]
        return ChatMessage(role="assistant", blocks=calls or [TextBlock(text=said.text)])

    return Scripted(response_generator=policy)


class TestLlamaIndex(AdapterConformance):
    """A function-calling agent."""

    def build(self, desk: Desk) -> Any:
        tools = [FunctionTool.from_defaults(one) for one in desk.tools]
        return FunctionAgent(name="clerk", llm=_model(desk), tools=tools, streaming=False)

    async def alone(self, agent: Any) -> str:
        return str(await agent.run(WISH, max_iterations=1_000))

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        return str(await through_doors(run, agent, **options).run(WISH, max_iterations=1_000))
