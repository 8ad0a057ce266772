"""The payment provider: refunds, idempotency keys and the bank's ledger."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.database import TODAY, YESTERDAY, Database
from chaosagent.experiments.triage.facts import number_of
from chaosagent.vocabulary import Effect, StatusError


class Tokens:
    """The service that issues idempotency keys: one for each purpose, and it keeps nothing."""

    def issue(self, purpose: str) -> dict[str, Plain]:
        """Return the key of a purpose."""
        return {"key": "idem_" + blake2b(purpose.encode(), digest_size=8).hexdigest()}


class Payments:
    """Pays money back, up to what was paid for an order; the same idempotency key is paid once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def refund(self, order_id: str, amount: int, key: str | None = None) -> dict[str, Plain]:
        """Pay back an amount in cents.

        Args:
            order_id: What was paid for.
            amount: Cents; together with earlier refunds at most the price of the order.
            key: Idempotency key; a refund that was made under it is returned again. Without one every call pays.

        Raises:
            StatusError: 404 for an unknown order, 422 for an amount that is no positive number, 409 when more would
                be paid back than was paid.
        """
        if key is not None:
            known = self._database.row("SELECT refund_id, order_id, amount FROM refunds WHERE idempotency_key = ?", key)
            if known is not None:
                return {"refund_id": known[0], "order_id": known[1], "amount": known[2], "made": False}
        if number_of({"amount": amount}, "amount") <= 0:
            raise StatusError(422, "the amount must be a positive number of cents")
        paid = self._database.row("SELECT sum(price) FROM items WHERE order_id = ?", order_id)
        back = self._database.row("SELECT count(*), sum(amount) FROM refunds WHERE order_id = ?", order_id)
        if paid is None or back is None or paid[0] is None:
            raise StatusError(404, f"no payment for order {order_id}")
        if int(back[1] or 0) + amount > int(paid[0]):
            raise StatusError(409, f"more than was paid for order {order_id}")
        number = f"R-{order_id}-{int(back[0] or 0) + 1}"
        self._database.write("INSERT INTO refunds VALUES (?, ?, ?, ?)", number, order_id, amount, key)
        return {"refund_id": number, "order_id": order_id, "amount": amount, "made": True}


def refunded(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:  # noqa: ARG001  # an effect rule's
    """Return the effect of `refund`: none when the key had been used."""
    if not isinstance(answer, Mapping) or not answer["made"]:
        return None
    return Effect("payments.refund", {"order_id": answer["order_id"], "amount": answer["amount"]})


class Ledger:
    """The bank's view of what was paid back; it is closed once a day, and pending refunds are shown on the day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find_refund(self, order_id: str, amount: int) -> dict[str, Plain]:
        """Say whether an amount was paid back for an order."""
        found = self._database.row("SELECT 1 FROM refunds WHERE order_id = ? AND amount = ?", order_id, amount)
        return {"order_id": order_id, "amount": amount, "found": found is not None, "as_of": TODAY}

    def stale(self, operation: str, arguments: Mapping[str, Plain]) -> Plain:
        """Return what the ledger said when it was closed yesterday: none of today's refunds."""
        del operation
        return {**arguments, "found": False, "as_of": YESTERDAY}
