"""The adapter for AutoGen passes the conformance suite."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.autogen import through_doors
from chaosagent.targets.target import Run
from chaosagent.testing.adapters import AdapterConformance
from chaosagent.testing.desk import WISH, Desk

pytestmark = [
    pytest.mark.autogen,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("autogen_agentchat") is None, reason="needs the extra autogen (autogen_agentchat)"),
]
if find_spec("autogen_agentchat") is not None:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core import FunctionCall
    from autogen_core.models import CreateResult, RequestUsage

    from chaosagent.adapters.core.calls import arguments_text
    from chaosagent.experiments.autogen.client import ScriptedClient


def _client(desk: Desk) -> Any:
    def policy(messages: Any, _: Any) -> Any:
        told = messages[-1].content if messages[-1].type == "FunctionExecutionResultMessage" else []
        turn = sum(message.type == "AssistantMessage" for message in messages)
        said = desk.answer(turn, "; ".join(one.content for one in told))
        calls = [FunctionCall(desk.draw_id(), arguments_text(given), name) for name, given in said.calls]
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        reason = "function_calls" if calls else "stop"
        return CreateResult(finish_reason=reason, content=calls or said.text, usage=usage, cached=False)

    return ScriptedClient(policy, model="scripted")


class TestAutoGen(AdapterConformance):
    """An assistant with three tools."""

    def build(self, desk: Desk) -> Any:
        return AssistantAgent("clerk", _client(desk), tools=desk.tools, max_tool_iterations=1_000, system_message=None)

    async def alone(self, agent: Any) -> str:
        return str((await agent.run(task=WISH)).messages[-1].to_text())

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        return str((await through_doors(run, agent, **options).runner.run(task=WISH)).messages[-1].to_text())
