"""The world of the desk: orders, refunds, mails and tickets, made anew for every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaosagent.canonical import Plain
from chaosagent.vocabulary import Effect, StatusError

ORDERS: Mapping[str, Mapping[str, Plain]] = {
    "A7": {"status": "lost", "euros": 40},
    "B4": {"status": "delivered", "euros": 250},
}

MAILS: Mapping[str, str] = {
    "refunded": "Your money is on its way.",
    "sorry": "I cannot decide that; a colleague will look into it.",
}


@dataclass(slots=True)
class Shop:
    """A shop with one customer, who has two orders.

    Attributes:
        strict: Whether the payment service itself keeps the rules: an order is paid back once, however often that is
            asked for, and not when it was delivered.
        refunds: The orders that were paid back, one entry a payment.
        mails: What was written: orders and texts.
        tickets: The orders that a colleague is to look into.
    """

    strict: bool
    refunds: list[str] = field(default_factory=list)
    mails: list[tuple[str, str]] = field(default_factory=list)
    tickets: list[str] = field(default_factory=list)

    def get_order(self, order: str) -> dict[str, Plain]:
        """Look an order up."""
        return {"order": order, **_known(order)}

    def get_refunds(self, order: str) -> dict[str, Plain]:
        """Say how often an order was paid back."""
        return {"order": order, "refunds": self.refunds.count(order)}

    def refund(self, order: str) -> dict[str, Plain]:
        """Pay an order back."""
        if _known(order)["status"] == "delivered" and self.strict:
            raise StatusError(409, "a delivered order is not refunded")
        if not (self.strict and order in self.refunds):
            self.refunds.append(order)
            return {"refunded": order}
        return {"refunded": order, "repeated": True}

    def send_mail(self, order: str, text: str) -> str:
        """Write to the customer."""
        self.mails.append((order, text))
        return "sent"

    def open_ticket(self, order: str) -> str:
        """Have a colleague look into an order."""
        self.tickets.append(order)
        return "opened"


def _known(order: str) -> Mapping[str, Plain]:
    if order not in ORDERS:
        raise StatusError(404, f"there is no order {order}")
    return ORDERS[order]


def paid(asked: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a refund has committed: nothing when the order was paid back before, and that is known."""
    is_repeated = isinstance(answer, Mapping) and "repeated" in answer
    return None if is_repeated else Effect("refund", {"order": asked["order"]})
