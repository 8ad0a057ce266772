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
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff, TaskResult, Team
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import Swarm
from autogen_core.memory import Memory, MemoryContent

from chaosagent.experiments.autogen.client import ScriptedClient
from chaosagent.experiments.autogen.models import ATTEMPTS_MAX, TERMINATE, desk_model, payments_model
from chaosagent.experiments.lost_parcel import AMOUNT, MAIL, SORRY, STATUS, Shop

TURNS_MAX = 20
ASKED = "Payments has been asked to take over; nothing is refunded before it says so."
logging.getLogger("autogen_core").addHandler(logging.NullHandler())  # else each failure prints a page on stderr


def open_desk(shop: Shop, notes: Memory) -> Swarm:
    """Make the team for a shop."""
    desk = AssistantAgent(
        "desk",
        ScriptedClient(desk_model, model="desk-model"),
        system_message="Help customers with their orders.",
        tools=_front_tools(shop),
        handoffs=[Handoff(target="payments", message=ASKED)] if shop.careful else ["payments"],
        memory=[notes],
    )
    payments = AssistantAgent(
        "payments",
        ScriptedClient(payments_model, model="payments-model"),
        system_message="Refund what the desk has looked up, and keep the books.",
        tools=_back_tools(shop),
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


def _front_tools(shop: Shop) -> list[Callable[..., Any]]:
    async def get_order(order: str) -> dict[str, Any]:
        """Look an order up."""
        return {"order": order, "amount": AMOUNT, "status": STATUS}

    def get_customer(order: str) -> dict[str, Any]:  # a plain function, which AutoGen runs in a thread
        """Look up who ordered."""
        return {"order": order, "mail": MAIL}

    async def send_mail(to: str, text: str) -> str:
        """Write to a customer."""
        return shop.mail(to, text)

    return [get_order, get_customer, send_mail]


def _back_tools(shop: Shop) -> list[Callable[..., Any]]:
    async def refund(order: str, amount: int) -> dict[str, Any]:
        """Pay a customer back."""
        return {"refunded": amount, "order": order, "repeated": shop.refund(order, amount)[1]}

    async def book_refund(order: str, amount: int) -> dict[str, Any]:
        """Enter a refund in the books."""
        return {"booked": amount, "order": order, "repeated": shop.book(order)}

    return [refund, book_refund]
