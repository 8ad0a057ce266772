"""The shop behind the desk: orders, refunds and mail, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

ORDERS = {"A-17": 40, "B-4": 25}


@dataclass(slots=True)
class Shop:
    """What there is, and what was done.

    Attributes:
        refunds: The order of each refund that was made.
        keys: The idempotency keys that were seen.
        mails: Order and text of each mail.
    """

    refunds: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    mails: list[tuple[str, str]] = field(default_factory=list)

    def order(self, order_id: str) -> dict[str, object]:
        """Return an order."""
        return {"order_id": order_id, "amount": ORDERS[order_id], "status": "lost in transit"}

    def refund(self, order_id: str, key: str) -> dict[str, object]:
        """Pay an order back: once for a key, each time without one."""
        repeated = bool(key) and key in self.keys
        if not repeated:
            self.refunds.append(order_id)
            self.keys.add(key)
        return {"order_id": order_id, "repeated": repeated}
