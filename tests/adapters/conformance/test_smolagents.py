"""The adapter for smolagents passes the conformance suite."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.smolagents import through_doors
from chaosagent.targets.target import Run
from chaosagent.testing.adapters import AdapterConformance
from chaosagent.testing.desk import WISH, Desk

pytestmark = [
    pytest.mark.smolagents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("smolagents") is None, reason="needs the extra smolagents"),
]
if find_spec("smolagents") is not None:
    from smolagents import ToolCallingAgent, tool
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

    from chaosagent.experiments.smolagents.model import ScriptedModel, text_of


def _model(desk: Desk) -> Any:
    def policy(messages: Any) -> Any:
        turn = sum(message.role == MessageRole.TOOL_RESPONSE for message in messages)
        said = desk.answer(turn, text_of(messages[-1:]))
        calls = said.calls or (("final_answer", {"answer": said.text}),)
        made = [
            ChatMessageToolCall(ChatMessageToolCallFunction(dict(given), name), desk.draw_id(), "function")
            for name, given in calls
        ]
        return ChatMessage(MessageRole.ASSISTANT, tool_calls=made)

    return ScriptedModel(policy, "scripted")


class TestSmolagents(AdapterConformance):
    """An agent that calls tools; it runs in a thread, which nobody can cancel."""

    can_be_cancelled = False

    def build(self, desk: Desk) -> Any:
        tools = [tool(one) for one in desk.tools]
        return ToolCallingAgent(tools, _model(desk), name="clerk", verbosity_level=0, max_steps=1_000)

    async def alone(self, agent: Any) -> str:
        return str(await asyncio.to_thread(agent.run, WISH))

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        return str(await asyncio.to_thread(through_doors(run, agent, **options).agent.run, WISH))
