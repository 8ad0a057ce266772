"""The adapter for LangGraph passes the conformance suite."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.langgraph import through_doors
from chaosagent.targets.target import Run
from chaosagent.testing.adapters import AdapterConformance
from chaosagent.testing.desk import WISH, Desk

pytestmark = [
    pytest.mark.langgraph,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("langchain") is None, reason="needs the extra langgraph"),
]
if find_spec("langchain") is not None:
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from langchain_core.utils.function_calling import convert_to_openai_tool


def _model(desk: Desk) -> Any:
    class Scripted(BaseChatModel):  # type: ignore[misc]  # untyped where the extra is missing
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **options)

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            told = str(messages[-1].text) if isinstance(messages[-1], ToolMessage) else ""
            said = desk.answer(sum(isinstance(message, AIMessage) for message in messages), told)
            calls = [{"name": name, "args": dict(given), "id": desk.draw_id()} for name, given in said.calls]
            return ChatResult(generations=[ChatGeneration(message=AIMessage(said.text, tool_calls=calls))])

    return Scripted()


class TestLangGraph(AdapterConformance):
    """An agent of LangChain; it is made with doors, or without."""

    model = "chat"

    def build(self, desk: Desk) -> Any:
        return _model(desk), [tool(one, parse_docstring=True) for one in desk.tools]

    def state(self, agent: Any) -> object:
        model, tools = agent
        return vars(model).copy(), [vars(one).copy() for one in tools]

    async def alone(self, agent: Any) -> str:
        return await self._said(create_agent(*agent, name="clerk"))

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        return await self._said(through_doors(run, **options).create_agent(*agent, name="clerk"))

    async def _said(self, made: Any) -> str:
        answer = await made.ainvoke({"messages": [("user", WISH)]}, {"recursion_limit": 1_000})
        return str(answer["messages"][-1].text)
