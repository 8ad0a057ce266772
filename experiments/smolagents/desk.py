"""A support desk of two agents, as one writes it with smolagents.

The desk looks orders up and talks to customers; it manages another agent, payments, which refunds and keeps the books.
In the first version the framework's defaults act: of the calls that a model makes at once it is told nothing but the
failure where one fails, and to try again; a managed agent begins anew with every task; a failure of its model is told
its manager as a failure of the task; and one of the manager's own ends the run.

The careful version makes payments that can be asked for again and books once, and goes on where a run was ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from smolagents import LogLevel, ToolCallingAgent, tool
from smolagents.utils import AgentGenerationError

from chaosagent.experiments.smolagents.model import ScriptedModel
from chaosagent.experiments.smolagents.policies import desk_model, payments_model
from chaosagent.experiments.smolagents.shop import Shop

ATTEMPTS_MAX = 3


def open_desk(shop: Shop) -> ToolCallingAgent:
    """Make the agents for a shop."""
    tools = {name: tool(function) for name, function in shop.functions().items()}
    payments = ToolCallingAgent(
        [tools["refund"], tools["book_refund"]],
        ScriptedModel(payments_model, "payments-model"),
        name="payments",
        description="Refunds, and keeps the books.",
        verbosity_level=LogLevel.OFF,
    )
    return ToolCallingAgent(
        [tools["get_order"], tools["get_customer"], tools["send_mail"]],
        ScriptedModel(desk_model, "desk-model"),
        name="desk",
        managed_agents=[payments],
        verbosity_level=LogLevel.OFF,
    )


def serve(desk: ToolCallingAgent, wishes: Sequence[str], *, careful: bool) -> list[str]:
    """Answer the messages of one customer, in one conversation."""
    return [_answer(desk, wish, attempts_max=ATTEMPTS_MAX if careful else 1) for wish in wishes]


def _answer(desk: ToolCallingAgent, wish: str, *, attempts_max: int) -> str:
    for _ in range(attempts_max - 1):
        try:
            return str(desk.run(wish, reset=False))
        except AgentGenerationError:  # whatever its model raised
            continue
    return str(desk.run(wish, reset=False))
