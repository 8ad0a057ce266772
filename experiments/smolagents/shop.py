"""The world of the support desk: orders, payments, the books and the mail, made anew for every run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from chaosagent.canonical import Plain
from chaosagent.targets.target import EffectRule
from chaosagent.vocabulary import Effect


@dataclass(slots=True)
class Shop:
    """A shop with one order that got lost.

    Attributes:
        careful: An order is refunded and booked once, however often it is asked for.
        refunds: The orders that were paid back, one entry a payment.
        entries: The books: one entry a refund.
        mails: What was written to customers.
    """

    careful: bool = False
    refunds: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """Return what agents can do here, by name, described as smolagents wants it."""

        def get_order(order: str) -> dict[str, Any]:
            """Look an order up.

            Args:
                order: Its number.
            """
            return {"amount": 40, "order": order, "status": "lost in transit"}

        def get_customer(order: str) -> dict[str, Any]:
            """Look up who ordered.

            Args:
                order: The number of the order.
            """
            return {"mail": "ada@example.org", "order": order}

        def send_mail(to: str, text: str) -> str:
            """Write to a customer.

            Args:
                to: The address.
                text: What to write.
            """
            self.mails.append(f"{to}: {text}")
            return "sent"

        def refund(order: str, amount: int) -> dict[str, Any]:
            """Pay a customer back.

            Args:
                order: The number of the order.
                amount: How much.
            """
            return {"order": order, "refunded": amount, "repeated": self._repeated(self.refunds, order)}

        def book_refund(order: str, amount: int) -> dict[str, Any]:
            """Enter a refund in the books.

            Args:
                order: The number of the order.
                amount: How much.
            """
            return {"booked": amount, "order": order, "repeated": self._repeated(self.entries, order)}

        return {one.__name__: one for one in (get_order, get_customer, send_mail, refund, book_refund)}

    def _repeated(self, done: list[str], order: str) -> bool:
        """Whether something was done for an order before, which only a careful shop looks up; it is done now, else."""
        repeated = self.careful and order in done
        if not repeated:
            done.append(order)
        return repeated


def committed(kind: str) -> EffectRule:
    """Return what says which effect a call committed: none when it was done before, and known."""
    return lambda asked, told: None if cast("dict[str, Plain]", told)["repeated"] else Effect(kind, asked)
