"""A support desk of two agents, as one writes it with pydantic-ai; the lines that chaosagent needs end in `# added`.

The desk looks orders up and talks to customers; the payments agent refunds and keeps the books. In the first version
the framework's defaults act: a tool that takes longer than the time limit is reported to the model, which is asked to
try again, whether it has done its work or not; any other exception of a tool ends the run at once, whatever the call
beside it has done; and each hand-off starts a run of the other agent that knows nothing of the one before.

The careful version makes the keys of payments from what is paid, so that doing it again does nothing; it tells the
model of every failed tool instead of ending the run; it allows for more than one retry; and a conversation that was
changed under its hands does not end it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationStore
from pydantic_ai.exceptions import AgentRunError, ToolFailed
from pydantic_ai.models.function import FunctionModel

from chaosagent.adapters.pydantic_ai import doors  # added
from chaosagent.experiments.lost_parcel import AMOUNT, MAIL, SORRY, STATUS, Shop
from chaosagent.experiments.pydantic_ai.models import desk_model, payments_model

SECONDS_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Desk:
    """The two agents.

    Attributes:
        front: Talks to customers.
        payments: Refunds.
        careful: Which version.
    """

    front: Agent[Shop, str]
    payments: Agent[Shop, str]
    careful: bool

    @property
    def agents(self) -> list[Agent[Shop, str]]:
        """Both."""
        return [self.front, self.payments]

    async def answer(self, wish: str, shop: Shop, store: ConversationStore, customer: str) -> str:
        """Answer one wish of a customer, with the conversation so far in mind."""
        conversation = await store.load(customer) or Conversation(conversation_id=customer)
        try:
            result = await self.front.run(wish, deps=shop, conversation=conversation)
        except AgentRunError:
            if not self.careful:
                raise
            return SORRY
        try:
            await store.save(result)
        except ConversationConflict:  # somebody else has gone on with it; what was said there stays
            if not self.careful:
                raise
        return str(result.output)


@cache
def open_desk(*, careful: bool) -> Desk:
    """Make the agents of a version; they keep nothing between runs."""
    common: dict[str, Any] = {
        "deps_type": Shop,
        "tool_timeout": SECONDS_MAX,
        "retries": 5 if careful else 1,
        "capabilities": [
            *([_telling()] if careful else []),
            doors,  # added
        ],
    }

    async def refund(ctx: RunContext[Shop], order: str, amount: int) -> dict[str, Any]:
        """Pay a customer back."""
        shop: Shop = ctx.deps
        number, repeated = shop.refund(order, amount)
        return {"order": order, "amount": amount, "refund": number, "repeated": repeated}

    async def book_refund(ctx: RunContext[Shop], order: str, amount: int) -> dict[str, Any]:
        """Enter a refund in the books."""
        shop: Shop = ctx.deps
        return {"order": order, "amount": amount, "repeated": shop.book(order)}

    payments = Agent(
        FunctionModel(payments_model, model_name="payments-model"),
        name="payments",
        instructions="Refund what you are asked to, and keep the books.",
        tools=[refund, book_refund],
        **common,
    )

    async def ask_payments(ctx: RunContext[Shop], wish: str) -> str:
        """Have the payments agent do something."""
        return str((await payments.run(wish, deps=ctx.deps, usage=ctx.usage)).output)

    front = Agent(
        FunctionModel(desk_model, model_name="desk-model"),
        name="desk",
        instructions="Help customers with their orders.",
        tools=[get_order, get_customer, ask_payments, send_mail],
        **common,
    )
    return Desk(front, payments, careful)


async def get_order(_: RunContext[Shop], order: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order": order, "amount": AMOUNT, "status": STATUS}


def get_customer(_: RunContext[Shop], order: str) -> dict[str, Any]:
    """Look up who ordered."""
    return {"order": order, "mail": MAIL}


async def send_mail(ctx: RunContext[Shop], to: str, text: str) -> str:
    """Write to a customer."""
    shop: Shop = ctx.deps
    return shop.mail(to, text)


def _telling() -> Hooks[Any]:
    """Return what tells the model of a failed tool, which by default ends the run."""
    hooks: Hooks[Any] = Hooks()
    hooks.on.tool_execute_error(_tell)
    return hooks


async def _tell(_: Any, *, error: Exception, **__: Any) -> Any:
    raise ToolFailed(f"{type(error).__name__}: {error}")
