"""The world of the desk: orders, payments, mail and tickets; and the functions that its agents have as tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agents import RunContextWrapper


@dataclass(slots=True)
class Shop:
    """What the desk works with.

    Attributes:
        orders: Amounts, by order.
        keyed: The desk gives a payment the key by which the bank recognises that it was made before.
        paid: Refunds that were made, by order, as often as they were made.
        keys: Keys that the bank has seen.
        sent: Mails, by order.
        tickets: What waits for a colleague.
    """

    orders: dict[str, int]
    keyed: bool = False
    paid: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    sent: list[str] = field(default_factory=list)
    tickets: list[str] = field(default_factory=list)

    def pay(self, order: str, key: str) -> bool:
        """Pay back, once per key; without a key, each time. Return whether it was paid before."""
        repeated = bool(key) and key in self.keys
        if not repeated:
            self.paid.append(order)
            self.keys.add(key)
        return repeated


async def get_order(shop: RunContextWrapper[Shop], order: str) -> dict[str, Any]:
    """Read an order."""
    return {"order": order, "amount": shop.context.orders[order], "status": "lost in transit"}


async def refund(shop: RunContextWrapper[Shop], order: str, amount: int) -> dict[str, Any]:
    """Pay a customer back."""
    repeated = shop.context.pay(order, f"refund-{order}" if shop.context.keyed else "")
    return {"order": order, "amount": amount, "repeated": repeated}


async def find_refunds(shop: RunContextWrapper[Shop], order: str) -> dict[str, Any]:
    """Look into the books: how often was an order paid back?"""
    return {"order": order, "refunds": shop.context.paid.count(order)}


async def send_mail(shop: RunContextWrapper[Shop], order: str) -> str:
    """Write to the customer that the order was paid back."""
    shop.context.sent.append(order)
    return "sent"


async def open_ticket(shop: RunContextWrapper[Shop], order: str) -> str:
    """Hand the matter to a colleague."""
    shop.context.tickets.append(order)
    return "opened"
