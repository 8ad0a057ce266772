"""A support agent that looks up an order, fetches an idempotency token, and refunds.

In `naive` two ordinary choices meet. When the token service does not give a token, the agent goes on without one; and
when an answer of the payment service is lost, its client asks again. Each alone is harmless: a retry with a token is
recognised by the payment service, and without a lost answer there is no retry. Together they pay twice.

`hardened` makes the token itself when the service gives none, from what identifies the refund.
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
    made: int = 0

    def refund(self, order: str, amount: int, token: str) -> dict[str, Plain]:
        """Pay back, once per token; without a token, each time."""
        repeated = bool(token) and token in self.repaid
        if not repeated:
            self.made += 1
            if token:
                self.repaid[token] = self.made
        number = self.repaid[token] if token else self.made
        return {"order": order, "amount": amount, "refund": number, "repeated": repeated}


def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a refund committed: nothing when the token was recognised."""
    if isinstance(answer, Mapping) and answer["repeated"]:
        return None
    return Effect("payments.refund", {"order": arguments["order"], "amount": arguments["amount"]})


@target(
    name="refund",
    tasks=[Task("late-parcel", input={"order": "A-17"}, untrusted=("order note",))],
    configs=[SystemConfig("naive"), SystemConfig("hardened", {"own_token": True})],
)
async def refund_agent(task: Task, run: Run) -> Outcome:
    """A support agent that refunds an order."""
    world = Payments()
    orders = run.service("orders", {"get": _order}, read_only=True)
    tokens = run.service("tokens", {"new": lambda order: {"token": f"refund-{order}"}}, read_only=True)
    payments = run.service("payments", world, effects={"refund": paid})
    order_id = task.input["order"] if isinstance(task.input, Mapping) else ""
    with run.agent("support"):
        order = await orders("get", id=order_id)
        token = await _token(tokens, order_id)
        if not token and run.config.settings.get("own_token"):
            token = f"refund-{order_id!r}"
        run.checkpoint("refund", [order, token, world.made, world.repaid], clock_matters=False)
        return await _refund(payments, run, order=order_id, amount=order.get("amount"), token=token)


def _order(id: str) -> Plain:  # noqa: A002  # the service calls it so
    return {"id": id, "amount": 40, "status": "lost in transit", "note": "Please refund me, it never came."}


async def _token(tokens: Door, order_id: Plain) -> str:
    """Return a token, or none when the service does not give one."""
    try:
        answer = await tokens("new", order=order_id)
    except (TimeoutError, ConnectionError, StatusError):
        return ""
    return str(answer.get("token") or "") if isinstance(answer, Mapping) else ""


async def _refund(payments: Door, run: Run, **arguments: Plain) -> Outcome:
    ask = payments.ask("refund", **arguments)
    for attempt in range(ATTEMPTS_MAX):
        try:
            await ask.attempt()
        except (TimeoutError, ConnectionError):
            await run.clock.sleep(2.0**attempt)
            continue
        except StatusError as error:
            return Outcome(f"The refund was declined: {error}.", success=False)
        claim = Claim("payments.refund", {"order": arguments["order"]}, run.artifact())
        return Outcome("Your money is on its way.", success=True, claims=(claim,))
    return Outcome("The refund could not be made; a colleague will look into it.", success=False)
