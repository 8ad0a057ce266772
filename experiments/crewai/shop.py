"""The world of the support crew: orders, payments, the books and the mail, made anew for every run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from chaosagent.canonical import Plain
from chaosagent.targets.target import EffectRule
from chaosagent.vocabulary import Effect


@dataclass(slots=True)
class Shop:
    """A shop with one order that got lost.

    Attributes:
        refunds: The orders that were paid back, one entry a payment.
        keys: The idempotency keys that the payment service has seen.
        entries: The books: one entry a refund.
        mails: What was written to customers.
    """

    refunds: list[str] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)

    def order(self, order: str) -> dict[str, Plain]:
        """Look an order up."""
        return {"order": order, "amount": 40, "status": "lost in transit"}

    def customer(self, order: str) -> dict[str, Plain]:
        """Look up who ordered."""
        return {"order": order, "mail": "ada@example.org"}

    def refund(self, order: str, amount: int, key: str) -> dict[str, Plain]:
        """Pay back: once for each key, and without a key each time."""
        repeated = bool(key) and key in self.keys
        if not repeated:
            self.refunds.append(order)
            self.keys[key] = len(self.refunds)
        return {"order": order, "amount": amount, "refund": self.keys[key], "repeated": repeated}

    def book(self, order: str, amount: int, *, once: bool) -> dict[str, Plain]:
        """Enter a refund in the books."""
        repeated = once and order in self.entries
        if not repeated:
            self.entries.append(order)
        return {"order": order, "amount": amount, "repeated": repeated}

    def mail(self, to: str, text: str) -> str:
        """Write to a customer."""
        self.mails.append(f"{to}: {text}")
        return "sent"


def committed(kind: str) -> EffectRule:
    """Return what says which effect a call committed: none when it was done before, and known."""
    return lambda asked, told: None if cast("dict[str, Plain]", told)["repeated"] else Effect(kind, asked)
