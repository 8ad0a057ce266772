"""A support agent that looks up an order, fetches an idempotency token, and refunds.

In `naive` two ordinary choices meet. When the token service does not give a token, the agent goes on without one; and
when an answer of the payment service is lost, its client asks again. Each alone is harmless: a retry with a token is
recognised by the payment service, and without a lost answer there is no retry. Together they pay twice.

`hardened` makes the token itself when the service gives none, from what identifies the refund; it looks at the books
before it says that a refund was not made; and it stops when it cannot see the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaosagent.canonical import Plain
from chaosagent.targets.target import Door, Run, target
from chaosagent.vocabulary import Claim, Effect, Outcome, StatusError, SystemConfig, Task

ATTEMPTS_MAX = 3


@dataclass(slots=True)
class Payments:
    """A payment service that recognises a repeated token."""

    repaid: dict[str, int] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    def refund(self, order: str, amount: int, token: str) -> dict[str, Plain]:
        """Pay back, once per token; without a token, each time."""
        repeated = bool(token) and token in self.repaid
        if not repeated:
            self.made.append(order)
            if token:
                self.repaid[token] = len(self.made)
        number = self.repaid[token] if token else len(self.made)
        return {"order": order, "amount": amount, "refund": number, "repeated": repeated}

    def find(self, order: str) -> dict[str, Plain]:
        """Say how often an order was paid back."""
        return {"order": order, "refunds": self.made.count(order)}


def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a refund committed: nothing when the token was recognised."""
    if isinstance(answer, Mapping) and answer["repeated"]:
        return None
    return Effect("payments.refund", {"order": arguments["order"], "amount": arguments["amount"]})


@target(
    name="refund",
    tasks=[Task("late-parcel", input={"order": "A-17"}, untrusted=("order note",))],
    configs=[SystemConfig("naive"), SystemConfig("hardened", {"careful": True})],
)
async def refund_agent(task: Task, run: Run) -> Outcome:
    """A support agent that refunds an order."""
    world = Payments()
    agent = SupportAgent(
        run,
        careful=bool(run.config.settings.get("careful")),
        orders=run.service("orders", {"get": _order}, read_only=True),
        tokens=run.service("tokens", {"new": _new_token}, read_only=True),
        payments=run.service("payments", world, effects={"refund": paid}, read_only=("find",)),
    )
    order_id = str(task.input["order"]) if isinstance(task.input, Mapping) else ""
    with run.agent("support"):
        return await agent.handle(order_id, world)


def _order(id: str) -> dict[str, Plain]:  # noqa: A002  # the service calls it so
    return {"id": id, "amount": 40, "status": "lost in transit", "note": "Please refund me, it never came."}


def _new_token(order: str) -> dict[str, Plain]:
    return {"token": f"refund-{order}"}


@dataclass(frozen=True, slots=True)
class SupportAgent:
    """Looks up an order, fetches a token, refunds.

    Attributes:
        run: Of which it is a part.
        careful: The hardened one.
        orders: Where orders are looked up.
        tokens: Where idempotency tokens come from.
        payments: Where refunds are made.
    """

    run: Run
    careful: bool
    orders: Door
    tokens: Door
    payments: Door

    async def handle(self, order_id: str, world: Payments) -> Outcome:
        """Refund one order."""
        order = await self._look_up(order_id)
        if order is None:
            return Outcome("I cannot see your order now; a colleague will look into it.", success=False)
        token = await self._token(order_id)
        self.run.checkpoint("refund", [order, token, world.made, world.repaid], clock_matters=False)
        return await self._refund(order_id, order.get("amount"), token)

    async def _look_up(self, order_id: str) -> Mapping[str, Plain] | None:
        try:
            order = await self.orders("get", id=order_id)
        except (TimeoutError, ConnectionError, StatusError):
            if self.careful:
                return None
            raise
        return order if isinstance(order, Mapping) else None

    async def _token(self, order_id: str) -> str:
        """Return a token; the naive agent goes on with none when the service does not give one."""
        try:
            answer = await self.tokens("new", order=order_id)
        except (TimeoutError, ConnectionError, StatusError):
            answer = None
        token = answer.get("token") if isinstance(answer, Mapping) else None
        if isinstance(token, str) and token:
            return token
        return f"refund-{order_id}" if self.careful else ""

    async def _refund(self, order_id: str, amount: Plain, token: str) -> Outcome:
        ask = self.payments.ask("refund", order=order_id, amount=amount, token=token)
        for attempt in range(ATTEMPTS_MAX):
            try:
                await ask.attempt()
            except (TimeoutError, ConnectionError):
                await self.run.clock.sleep(2.0**attempt)
            except StatusError:
                break
            else:
                return self._paid(order_id)
        if self.careful and (await self.payments("find", order=order_id))["refunds"]:
            return self._paid(order_id)
        return Outcome("The refund could not be made; a colleague will look into it.", success=False)

    def _paid(self, order_id: str) -> Outcome:
        claim = Claim("payments.refund", {"order": order_id}, self.run.artifact())
        return Outcome("Your money is on its way.", success=True, claims=(claim,))
