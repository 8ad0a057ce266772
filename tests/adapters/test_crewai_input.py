"""What the adapter for CrewAI says to bad input."""

from __future__ import annotations

import asyncio
import warnings
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.crewai import through_doors
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.execution.untraced import UntracedRun
from chaosagent.vocabulary import Task

needs_extra = [
    pytest.mark.crewai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("crewai") is None, reason="needs the extra crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ImportWarning"),  # when it is imported first
]
RUN = UntracedRun(Task("t"))


def _crew(*roles: str, tools: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from crewai import Agent, Crew
        from crewai import Task as Work
        from crewai.llms.base_llm import BaseLLM
        from crewai.tools import tool

    class Silent(BaseLLM):
        def call(self, *_: Any, **__: Any) -> str:
            return "Final Answer: done"

    def get_order(order: str) -> str:
        """Read an order."""
        return order

    made = [tool("Get order")(get_order)] if tools is None else tools
    agents = [Agent(role=role, goal="help", backstory="kind", llm=Silent(model="silent"), tools=made) for role in roles]
    return Crew(agents=agents, tasks=[Work(description="x", expected_output="y", agent=agents[0])])


def _opened(crew: Any, **said: Any) -> None:
    async def target() -> None:
        through_doors(RUN, crew, **said)

    asyncio.run(target())


class TestWithTheFramework:
    """What needs the framework to be said."""

    pytestmark = needs_extra

    def test_an_unknown_tool_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match=r"effects: unknown tool 'get_orders'\. Did you mean 'get_order'"):
            _opened(_crew("Clerk"), effects={"get_orders": effect("order")})
        with pytest.raises(UnknownNameError, match=r"handoffs: unknown tool 'ask'"):
            _opened(_crew("Clerk"), handoffs=["ask"])

    def test_what_is_said_of_the_tools_of_crewai_itself_is_taken(self) -> None:
        _opened(_crew("Clerk"), egress=["delegate_work_to_coworker"], read_only=["search_memory"])

    def test_a_tool_that_reads_only_and_has_effects_is_refused(self) -> None:
        with pytest.raises(TargetError, match="declared read-only and has effects"):
            _opened(_crew("Clerk"), effects={"get_order": effect("order")}, read_only=["get_order"])

    def test_two_agents_of_one_role_are_refused(self) -> None:
        with pytest.raises(TargetError, match="two agents are called 'Clerk'"):
            _opened(_crew("Clerk", "Clerk"))

    def test_two_tools_of_one_name_are_refused(self) -> None:
        crew = _crew("Clerk")
        (tool,) = crew.agents[0].tools
        with pytest.raises(TargetError, match="two tools are called 'get_order'"):
            _opened(_crew("Clerk", tools=[tool, tool]))

    def test_what_is_no_crew_is_refused(self) -> None:
        with pytest.raises(TargetError, match=r"through_doors\(run, crew\): 'crew' is no crew"):
            _opened("crew")

    def test_a_synchronous_target_is_refused(self) -> None:
        with pytest.raises(TargetError, match="make the target an `async def`"):
            through_doors(RUN, _crew("Clerk"))
