"""What a careful assistant looks up once more: before something irreversible, and when an outcome is not known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.clients import TRANSIENT, answer_of
from chaosagent.experiments.triage.context import Facts
from chaosagent.experiments.triage.database import TODAY
from chaosagent.experiments.triage.deciding import LOST_DAYS
from chaosagent.experiments.triage.desk import Desk
from chaosagent.experiments.triage.facts import days_between, list_of, number_of, text_of, truth_of
from chaosagent.experiments.triage.reads import Reads
from chaosagent.vocabulary import StatusError


class Doubts:
    """Second looks at one desk, at the sources that are never behind."""

    def __init__(self, desk: Desk, reads: Reads) -> None:
        self._desk, self._reads = desk, reads

    async def settled(self, write: Awaitable[Plain], happened: Callable[[], Awaitable[bool]]) -> Plain:
        """Return the answer to a write, or when it failed what a look at the source says.

        An error says that the write was not answered, not that it was not made; a proxy may have lost the answer.

        Raises:
            StatusError: The service refused or cannot answer, and the source does not know of the write.
            TimeoutError: The write was not answered, and the source does not know of it.
            ConnectionError: Likewise.
        """
        try:
            return await write
        except TRANSIENT:
            if not await happened():
                raise
        return {"status": "confirmed"}

    async def check_address(self, order_id: str) -> None:
        """Raise `StatusError` unless an order is the sender's and has not left."""
        found = await self._order(order_id)
        self._check_owner(found, order_id)
        if text_of(found, "status") not in ("paid", "packed"):
            raise StatusError(409, f"order {order_id} has left the warehouse")

    async def check_part(self, order_id: str, part: str) -> None:
        """Raise `StatusError` unless the sender has received an order and a part of it was not posted yet."""
        found = await self._order(order_id)
        self._check_owner(found, order_id)
        if text_of(found, "status") != "delivered" or part in list_of(found, "parts"):
            raise StatusError(409, f"part {part} cannot be posted for order {order_id}")

    async def check_open(self, order_id: str) -> None:
        """Raise `StatusError` unless an order can still be cancelled."""
        found = await self._order(order_id)
        if text_of(found, "status") not in ("paid", "packed"):
            raise StatusError(409, f"order {order_id} has left the warehouse")

    async def check_refund(self, order_id: str, amount: int, reason: str) -> None:
        """Raise `StatusError` unless the sender owns an order and may have an amount back for that reason."""
        found = await self._order(order_id)
        self._check_owner(found, order_id)
        prices = [price for price in list_of(found, "prices") if isinstance(price, int)]
        right = {
            "damaged": amount in prices,
            "returned": amount in list_of(found, "returnable"),
            "agreed": amount == number_of(found, "agreed") and amount not in list_of(found, "refunded"),
            "unpaid": amount in prices and amount not in list_of(found, "refunded"),
            "cancelled": text_of(found, "status") == "cancelled" and amount == sum(prices),
        }
        if not right.get(reason, False):
            raise StatusError(409, f"{amount} cannot be paid back for order {order_id}, {reason}")

    async def check_lost(self, order_id: str) -> None:
        """Raise `StatusError` unless the carrier itself has not seen the parcel of an order for too long."""
        order = await self._order(order_id)
        parcel = await self._reads.track_at_carrier(text_of(order, "tracking"))
        days = days_between(text_of(parcel, "seen_on"), TODAY)
        if text_of(parcel, "status") != "in transit" or days is None or days <= LOST_DAYS:
            raise StatusError(409, f"the parcel of order {order_id} is not lost")

    async def address_is(self, order_id: str, address: str) -> bool:
        """Whether an order goes to an address."""
        return text_of(await self._order(order_id), "address") == address

    async def is_cancelled(self, order_id: str) -> bool:
        """Whether an order is cancelled."""
        return text_of(await self._order(order_id), "status") == "cancelled"

    async def is_refunded(self, order_id: str, amount: int) -> bool:
        """Whether the bank knows of a refund."""
        found = await self._desk.ledger("find_refund", order_id=order_id, amount=amount)
        return truth_of(found, "found")

    async def is_replaced(self, order_id: str) -> bool:
        """Whether the goods of an order were sent once more."""
        return truth_of(await self._order(order_id), "replaced")

    async def is_posted(self, order_id: str, part: str) -> bool:
        """Whether a part of an order was posted."""
        return part in list_of(await self._order(order_id), "parts")

    async def is_sent(self, message_id: str) -> bool:
        """Whether an e-mail left."""
        found = await answer_of(self._desk.sent_mail.ask("find", message_id=message_id), self._desk.clock)
        return truth_of(found, "found")

    async def agree_on_owner(self, planned: Facts, customer: Plain) -> bool:
        """Whether the source says of the owner of a planned order what the plan and the register say."""
        found = await self._order(text_of(planned, "order_id"))
        owner = text_of(customer, "customer_id") == text_of(planned, "customer_id") != ""
        return owner == (text_of(found, "email") == self._desk.sender)

    def _check_owner(self, found: Plain, order_id: str) -> None:
        if text_of(found, "email") != self._desk.sender:
            raise StatusError(403, f"order {order_id} is somebody else's")

    async def _order(self, order_id: str) -> Plain:
        return await answer_of(self._desk.primary.ask("confirm_order", order_id=order_id), self._desk.clock)
