"""The world of the support desk: orders, payments, the books and the mail, made anew for every run.

Its methods are the tools of the agents; AutoGen runs `get_customer`, a plain function, in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from chaosagent.canonical import Plain
from chaosagent.targets.target import EffectRule
from chaosagent.vocabulary import Effect


@dataclass(slots=True)
class Shop:
    """A shop with one order that got lost.

    Attributes:
        careful: A payment has a key that is made from what is paid, and a refund is booked once.
        refunds: The orders that were paid back, one entry a payment.
        entries: The books: one entry a refund.
        mails: What was written to customers.
    """

    careful: bool = False
    refunds: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)

    async def get_order(self, order: str) -> dict[str, Any]:
        """Look an order up."""
        return {"order": order, "amount": 40, "status": "lost in transit"}

    def get_customer(self, order: str) -> dict[str, Any]:
        """Look up who ordered."""
        return {"order": order, "mail": "ada@example.org"}

    async def send_mail(self, to: str, text: str) -> str:
        """Write to a customer."""
        self.mails.append(f"{to}: {text}")
        return "sent"

    async def refund(self, order: str, amount: int) -> dict[str, Any]:
        """Pay a customer back."""
        repeated = self._done(self.refunds, order)
        return {"refunded": amount, "order": order, "repeated": repeated}

    async def book_refund(self, order: str, amount: int) -> dict[str, Any]:
        """Enter a refund in the books."""
        repeated = self._done(self.entries, order)
        return {"booked": amount, "order": order, "repeated": repeated}

    def _done(self, done: list[str], order: str) -> bool:
        """Do something for an order; say whether it was done before, which only the careful shop looks up."""
        if self.careful and order in done:
            return True
        done.append(order)
        return False


def committed(kind: str) -> EffectRule:
    """Return what says which effect a call committed: none when it was done before, and known."""
    return lambda asked, told: None if cast("dict[str, Plain]", told)["repeated"] else Effect(kind, asked)
