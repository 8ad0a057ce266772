"""What the adapter for pydantic-ai says to bad input."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.pydantic_ai import through_doors
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.execution.untraced import UntracedRun
from chaosagent.vocabulary import Task

needs_extra = [
    pytest.mark.pydantic_ai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pydantic_ai") is None, reason="needs the extra pydantic-ai (pydantic_ai)"),
]
RUN = UntracedRun(Task("t"))


def get_order(order: str) -> str:
    """Read an order."""
    return order


def _agent(**said: Any) -> Any:
    from pydantic_ai import Agent

    from chaosagent.adapters.pydantic_ai import doors

    return Agent("test", **{"name": "clerk", "tools": [get_order], "capabilities": [doors], **said})


def _opened(agents: list[Any], **said: Any) -> None:
    async def target() -> None:
        with through_doors(RUN, agents, **said):
            pass

    asyncio.run(target())


def test_another_name_of_the_module_is_an_attribute_error() -> None:
    import chaosagent.adapters.pydantic_ai as adapter

    with pytest.raises(AttributeError, match="no attribute 'door'"):
        _ = adapter.door


class TestWithTheFramework:
    """What needs the framework to be said."""

    pytestmark = needs_extra

    def test_an_unknown_tool_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match=r"effects: unknown tool 'get_orders'\. Did you mean 'get_order'"):
            _opened([_agent()], effects={"get_orders": effect("order")})
        with pytest.raises(UnknownNameError, match=r"handoffs: unknown tool 'ask'"):
            _opened([_agent()], handoffs=["ask"])

    def test_a_tool_that_reads_only_and_has_effects_is_refused(self) -> None:
        with pytest.raises(TargetError, match="declared read-only and has effects"):
            _opened([_agent()], effects={"get_order": effect("order")}, read_only=["get_order"])

    def test_no_agent_and_one_with_two_doors_are_refused(self) -> None:
        from chaosagent.adapters.pydantic_ai import doors

        with pytest.raises(TargetError, match=r"agent 'clerk' has two doors: give it `capabilities=\[doors\]` once"):
            _opened([_agent(capabilities=[doors, doors])])
        with pytest.raises(TargetError, match="there is no agent"):
            _opened([])

    def test_two_agents_of_one_name_are_refused(self) -> None:
        with pytest.raises(TargetError, match="two agents are called 'clerk'"):
            _opened([_agent(), _agent()])

    def test_two_tools_of_one_name_are_refused_by_the_framework(self) -> None:
        from pydantic_ai.exceptions import UserError

        with pytest.raises(UserError, match="get_order"):
            _agent(tools=[get_order, get_order])

    def test_a_synchronous_target_is_refused(self) -> None:
        with pytest.raises(TargetError, match="make the target an `async def`"):
            through_doors(RUN, [_agent()])
