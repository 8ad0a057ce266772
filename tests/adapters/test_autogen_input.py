"""What the adapter for AutoGen says to bad input."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.autogen import through_doors
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.execution.untraced import UntracedRun
from chaosagent.vocabulary import Task

needs_extra = [
    pytest.mark.autogen,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("autogen_agentchat") is None, reason="needs the extra autogen (autogen_agentchat)"),
]
RUN = UntracedRun(Task("t"))


def get_order(order: str) -> str:
    """Read an order."""
    return order


def _agent(name: str = "clerk") -> Any:
    from autogen_agentchat.agents import AssistantAgent

    from chaosagent.experiments.autogen.client import ScriptedClient, says

    return AssistantAgent(name, ScriptedClient(lambda *_: says("yes"), model="m"), tools=[get_order])


def _opened(runner: Any, **said: Any) -> Any:
    async def target() -> Any:
        return through_doors(RUN, runner, **said)

    return asyncio.run(target())


class TestWithTheFramework:
    """What needs the framework to be said."""

    pytestmark = needs_extra

    def test_an_unknown_tool_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match=r"effects: unknown tool 'get_orders'\. Did you mean 'get_order'"):
            _opened(_agent(), effects={"get_orders": effect("order")})

    def test_a_tool_that_reads_only_and_has_effects_is_refused(self) -> None:
        with pytest.raises(TargetError, match="declared read-only and has effects"):
            _opened(_agent(), effects={"get_order": effect("order")}, read_only=["get_order"])

    def test_two_agents_of_one_name_are_refused(self) -> None:
        from autogen_agentchat.teams import RoundRobinGroupChat
        from autogen_agentchat.tools import AgentTool

        front = _agent()
        front._workbench[0]._tools.append(AgentTool(_agent()))
        with pytest.raises(TargetError, match="two agents are called 'clerk'"):
            _opened(RoundRobinGroupChat([front]))

    def test_what_is_no_agent_is_refused(self) -> None:
        with pytest.raises(TargetError, match="str is neither an agent nor a team of autogen_agentchat"):
            _opened("clerk")

    def test_an_agent_with_nothing_to_cross_is_refused(self) -> None:
        from autogen_agentchat.agents import UserProxyAgent

        with pytest.raises(TargetError, match="'user' has neither a model client nor tools"):
            _opened(UserProxyAgent("user"))

    def test_a_team_with_a_runtime_of_somebody_else_is_refused(self) -> None:
        from autogen_agentchat.teams import RoundRobinGroupChat
        from autogen_core import SingleThreadedAgentRuntime

        team = RoundRobinGroupChat([_agent()], runtime=SingleThreadedAgentRuntime())
        with pytest.raises(TargetError, match=r"was made with runtime=\.\.\., which all runs would share"):
            _opened(team)

    def test_a_synchronous_target_is_refused(self) -> None:
        with pytest.raises(TargetError, match="make the target an `async def`"):
            through_doors(RUN, _agent())

    def test_a_stream_without_an_answer_is_refused(self) -> None:
        from chaosagent.adapters.autogen.model import DoorClient

        class Mute:
            async def create_stream(self, *_: Any, **__: Any) -> Any:
                yield "word"

        async def ask(_: Any, messages: Any, tools: Any, __: Any, request: Any) -> Any:
            return await request(messages, tools)

        async def read() -> None:
            async for _ in DoorClient(Mute(), ask).create_stream([]):
                pass

        with pytest.raises(TargetError, match="ended its stream without a CreateResult"):
            asyncio.run(read())
