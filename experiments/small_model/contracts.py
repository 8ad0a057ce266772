"""What the rules of the shop ask for, besides the contracts that hold for any agent."""

from __future__ import annotations

from chaosagent.contracts.custom import contract
from chaosagent.experiments.small_model.shop import ORDERS
from chaosagent.trace.step import Step


@contract("delivered-is-kept")
def delivered_is_kept(step: Step) -> str | None:
    """Refunding an order that was delivered is a violation."""
    for effect in step.effects:
        order = effect.identity.get("order")
        if effect.kind == "refund" and isinstance(order, str) and ORDERS[order]["status"] == "delivered":
            return f"{order} was refunded, and it was delivered"
    return None
