"""What the adapter for smolagents says to bad input."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.smolagents import through_doors
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.execution.untraced import UntracedRun
from chaosagent.vocabulary import Task

needs_extra = [
    pytest.mark.smolagents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("smolagents") is None, reason="needs the extra smolagents (smolagents)"),
]
RUN = UntracedRun(Task("t"))


def get_order(order: str) -> str:
    """Read an order.

    Args:
        order: Which one.
    """
    return order


def _agent(kind: str = "ToolCallingAgent", **more: Any) -> Any:
    import smolagents as framework

    from chaosagent.experiments.smolagents.model import ScriptedModel, ends

    model = ScriptedModel(lambda _: ends("yes"), "m")
    return getattr(framework, kind)([framework.tool(get_order)], model, verbosity_level=0, **more)


class TestWithTheFramework:
    """What needs the framework to be said."""

    pytestmark = needs_extra

    def test_an_unknown_tool_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match=r"effects: unknown tool 'get_orders'\. Did you mean 'get_order'"):
            through_doors(RUN, _agent(), effects={"get_orders": effect("order")})

    def test_a_tool_that_reads_only_and_has_effects_is_refused(self) -> None:
        with pytest.raises(TargetError, match="declared read-only and has effects"):
            through_doors(RUN, _agent(), effects={"get_order": effect("order")}, read_only=["get_order"])

    def test_two_agents_of_one_name_are_refused(self) -> None:
        managed = _agent(name="agent", description="the name that one without a name has")
        with pytest.raises(TargetError, match="two agents are called 'agent'"):
            through_doors(RUN, _agent(managed_agents=[managed]))

    def test_what_is_no_agent_is_refused(self) -> None:
        with pytest.raises(TargetError, match="str is no agent of smolagents"):
            through_doors(RUN, "clerk")

    def test_an_agent_whose_code_runs_elsewhere_is_refused(self) -> None:
        class Elsewhere:
            """An executor of somebody else."""

        with pytest.raises(TargetError, match="runs its code in a Elsewhere, where tools cannot cross doors"):
            through_doors(RUN, _agent("CodeAgent", executor=Elsewhere()))
