"""The agents of the desk: a front desk that hands over to billing.

`naive` takes the defaults of the SDK: a tool that failed tells the model to try again, tools are called together, and
a call of a tool that is not there ends the run. `fixed` says of what writes that it may have been done, has the books
looked into before a second attempt, gives payments a key, calls one tool at a time, and hands to a colleague what it
could not finish.
"""

from __future__ import annotations

import functools
from typing import Any

from agents import Agent, ModelSettings, RunConfig, function_tool

from chaosagent.experiments.openai_agents import shop
from chaosagent.experiments.openai_agents.model import DeskModel

CAREFUL = " If you cannot finish, open a ticket, and say what was done."


@functools.cache
def front_desk(*, fixed: bool) -> Any:
    """Return the agent that customers talk to."""
    reads = [function_tool(one) for one in (shop.get_order, shop.find_refunds)]
    writes = [_writing(one, fixed=fixed) for one in (shop.refund, shop.send_mail, shop.open_ticket)]
    settings = ModelSettings(parallel_tool_calls=False) if fixed else ModelSettings()
    model = DeskModel()
    billing = Agent(
        name="billing",
        instructions="You are billing: pay back and write to the customer." + CAREFUL * fixed,
        tools=[reads[1], *writes],
        model=model,
        model_settings=settings,
    )
    return Agent(
        name="front desk",
        instructions="You are the front desk: look orders up, hand refunds over." + CAREFUL * fixed,
        tools=[reads[0], writes[2]],
        handoffs=[billing],
        model=model,
        model_settings=settings,
    )


def run_config(*, fixed: bool) -> RunConfig:
    """Return how the agents are run."""
    return RunConfig(tool_not_found_behavior="return_error_to_model") if fixed else RunConfig()


def _writing(function: Any, *, fixed: bool) -> Any:
    return function_tool(function, failure_error_function=_unsure) if fixed else function_tool(function)


def _unsure(_: Any, error: Exception) -> str:
    return f"{type(error).__name__}: it may have been done all the same. Look before you call again."
