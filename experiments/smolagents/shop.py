"""The shop of the lost parcel, with what agents can do in it as smolagents wants it described."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chaosagent.experiments import lost_parcel
from chaosagent.experiments.lost_parcel import AMOUNT, MAIL, STATUS


@dataclass(slots=True)
class Shop(lost_parcel.Shop):
    """The shop, with its tools."""

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """Return the tools by name."""

        def get_order(order: str) -> dict[str, Any]:
            """Look an order up.

            Args:
                order: Its number.
            """
            return {"amount": AMOUNT, "order": order, "status": STATUS}

        def get_customer(order: str) -> dict[str, Any]:
            """Look up who ordered.

            Args:
                order: The number of the order.
            """
            return {"mail": MAIL, "order": order}

        def send_mail(to: str, text: str) -> str:
            """Write to a customer.

            Args:
                to: The address.
                text: What to write.
            """
            return self.mail(to, text)

        def refund(order: str, amount: int) -> dict[str, Any]:
            """Pay a customer back.

            Args:
                order: The number of the order.
                amount: How much.
            """
            return {"order": order, "refunded": amount, "repeated": self.refund(order, amount)[1]}

        def book_refund(order: str, amount: int) -> dict[str, Any]:
            """Enter a refund in the books.

            Args:
                order: The number of the order.
                amount: How much.
            """
            return {"booked": amount, "order": order, "repeated": self.book(order)}

        return {one.__name__: one for one in (get_order, get_customer, send_mail, refund, book_refund)}
