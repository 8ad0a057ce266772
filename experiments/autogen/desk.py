"""A support desk of two agents, as one writes it with AutoGen.

The desk looks orders up and talks to customers; payments refunds and keeps the books; they hand over to each other in a
`Swarm`. Each message of a customer is a conversation of its own, and what was answered is noted in a memory. In the
first version the framework's defaults act: whatever a tool raises is told the model as a text, and it calls again,
whether the work was done or not; a hand-off is told its sender as done before anybody has it; a failure of a model ends
the whole team; and a memory is all that one conversation knows of another.

The careful version makes payments that can be repeated and books once, tells the desk of a hand-off what is true of it
then, and has another team begin again where one failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff, TaskResult, Team
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import Swarm
from autogen_core.memory import Memory, MemoryContent

from chaosagent.experiments.autogen.client import ScriptedClient
from chaosagent.experiments.autogen.models import ATTEMPTS_MAX, SORRY, TERMINATE, desk_model, payments_model
from chaosagent.experiments.autogen.shop import Shop

TURNS_MAX = 20
ASKED = "Payments has been asked to take over; nothing is refunded before it says so."
logging.getLogger("autogen_core").addHandler(logging.NullHandler())  # else each failure prints a page on stderr


def open_desk(shop: Shop, notes: Memory) -> Swarm:
    """Make the team for a shop."""
    desk = AssistantAgent(
        "desk",
        ScriptedClient(desk_model, model="desk-model"),
        system_message="Help customers with their orders.",
        tools=[shop.get_order, shop.get_customer, shop.send_mail],
        handoffs=[Handoff(target="payments", message=ASKED)] if shop.careful else ["payments"],
        memory=[notes],
    )
    payments = AssistantAgent(
        "payments",
        ScriptedClient(payments_model, model="payments-model"),
        system_message="Refund what the desk has looked up, and keep the books.",
        tools=[shop.refund, shop.book_refund],
        handoffs=["desk"],
    )
    return Swarm([desk, payments], termination_condition=TextMentionTermination(TERMINATE), max_turns=TURNS_MAX)


async def answer(opened: Callable[[], Team], notes: Memory, wish: str, *, careful: bool) -> str:
    """Answer one message of a customer in a conversation of its own, and note what was answered."""
    result = await _run(opened, wish, attempts_max=ATTEMPTS_MAX if careful else 1)
    said = [message.content for message in result.messages if isinstance(message, TextMessage)]
    text = said[-1].removesuffix(TERMINATE).strip() if said[-1].endswith(TERMINATE) else SORRY
    await notes.add(MemoryContent(content=f"{wish} {text}", mime_type="text/plain"))
    return text


async def _run(opened: Callable[[], Team], wish: str, *, attempts_max: int) -> TaskResult:
    """Have a team work on a wish; where one of its agents fails, have another team begin again."""
    for _ in range(attempts_max - 1):
        try:
            return await opened().run(task=wish)
        except RuntimeError:  # what a team makes of any failure of an agent; it works no more then, not even reset
            continue
    return await opened().run(task=wish)
