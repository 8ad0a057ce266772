"""A support desk: an agent that talks to customers and one that may pay them back, with a memory between conversations.

This is the agent as it is without chaosagent, but for the two lines that take `create_agent` from outside.

`careful` is the desk after what was found. The clerk looks into the books before it pays, pays with an idempotency key,
and writes to the customer only when the money is on its way. What has no key is not repeated: its error goes to the
model. And a conversation that ends with a call that could not be read goes on: LangChain ends it there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from langchain.agents import create_agent as langchain_create_agent
from langchain.agents.middleware import ToolErrorMiddleware, ToolRetryMiddleware
from langchain.tools import ToolRuntime, tool
from langgraph.store.memory import InMemoryStore

from chaosagent.experiments.langgraph.models import ClerkModel, DeskModel
from chaosagent.experiments.langgraph.shop import Shop

READS = ["get_order", "recall", "find_refund"]
SAFE = [*READS, "refund"]
"""Tools that may be called again after an error: they read, or have a key."""


async def serve(
    questions: Iterable[Any],
    shop: Shop,
    *,
    careful: bool,
    create_agent: Callable[..., Any] = langchain_create_agent,
) -> str:
    """Answer a customer's questions, each in a conversation of its own, and return the last answer."""
    around: list[Any] = [ToolRetryMiddleware(jitter=False)]
    if careful:
        around = [ToolErrorMiddleware(_told), ToolRetryMiddleware(tools=SAFE, jitter=False)]
    clerk = create_agent(ClerkModel(careful=careful), clerk_tools(shop), name="clerk", middleware=around)
    tools = desk_tools(shop, lambda request: asked(clerk, request, careful=careful))
    desk = create_agent(DeskModel(careful=careful), tools, name="desk", middleware=around, store=InMemoryStore())
    text = ""
    for question in questions:
        text = await asked(desk, question, careful=careful)
    return text


async def asked(agent: Any, question: str, *, careful: bool) -> str:
    """Return what an agent answers in a new conversation."""
    answer = await agent.ainvoke({"messages": [("user", question)]})
    if careful and answer["messages"][-1].invalid_tool_calls:
        answer = await agent.ainvoke({"messages": answer["messages"]})
    return str(answer["messages"][-1].text)


def _told(error: Exception, _: Any) -> str:
    return f"Error: {error}"


def desk_tools(shop: Shop, ask: Callable[[str], Awaitable[str]]) -> list[Any]:
    """Return the tools of the desk."""

    @tool
    def get_order(order_id: str) -> dict[str, object]:
        """Look up an order."""
        return shop.order(order_id)

    @tool
    async def recall(order_id: str, runtime: ToolRuntime) -> str:
        """Say what was noted about an order."""
        item = await runtime.store.aget(("orders",), order_id)
        return str(item.value["text"]) if item else "nothing"

    @tool
    async def remember(order_id: str, text: str, runtime: ToolRuntime) -> str:
        """Note something about an order."""
        await runtime.store.aput(("orders",), order_id, {"text": text})
        return "noted"

    @tool
    async def ask_clerk(request: str) -> str:
        """Ask the clerk, who may pay customers back."""
        return await ask(request)

    return [get_order, recall, remember, ask_clerk, find_refund_in(shop)]


def clerk_tools(shop: Shop) -> list[Any]:
    """Return the tools of the clerk."""

    @tool
    def refund(order_id: str, key: str = "") -> dict[str, object]:
        """Pay an order back; a key makes sure that it happens once."""
        return shop.refund(order_id, key)

    @tool
    def send_mail(order_id: str, text: str) -> str:
        """Write to the customer of an order."""
        shop.mails.append((order_id, text))
        return "sent"

    return [find_refund_in(shop), refund, send_mail]


def find_refund_in(shop: Shop) -> Any:
    """Return the tool that looks into the books."""

    @tool
    def find_refund(order_id: str) -> dict[str, object]:
        """Say whether an order was refunded."""
        return {"order_id": order_id, "refunded": order_id in shop.refunds}

    return find_refund
