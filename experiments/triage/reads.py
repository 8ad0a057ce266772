"""The tools with which agents look things up."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.clients import TRANSIENT, answer_of, repeatable
from chaosagent.experiments.triage.desk import Desk

TRACKING_SECONDS_MAX = 10.0


class Reads:
    """Look-ups at one desk; each asks twice before it gives up."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def get_order(self, order_id: str) -> Plain:
        """Return an order."""
        return await answer_of(self._desk.orders.ask("get_order", order_id=order_id), self._desk.clock)

    async def find_customer(self, email: str) -> Plain:
        """Return a customer."""
        return await answer_of(self._desk.customers.ask("find", email=email), self._desk.clock)

    async def find_refund(self, order_id: str, amount: int) -> Plain:
        """Return whether the bank knows of a refund."""
        ask = self._desk.ledger.ask("find_refund", order_id=order_id, amount=amount)
        return await answer_of(ask, self._desk.clock)

    async def read_notes(self) -> Plain:
        """Return what was written down about the ticket before."""
        notes: Plain = await self._desk.notes("read", key=self._desk.ticket_id)
        return notes

    async def read_customer_file(self, email: str) -> Plain:
        """Return everything that is known about a customer."""
        return await answer_of(self._desk.customers.ask("read_file", email=email), self._desk.clock)

    async def search_kb(self, query: str) -> Plain:
        """Return passages of the knowledge base."""
        found: Plain = await self._desk.knowledge("search", query=query)
        return found

    async def track_parcel(self, tracking: str) -> Plain:
        """Return where a parcel was seen last; the aggregator is asked when the carrier does not answer."""
        try:
            return await self.track_at_carrier(tracking)
        except TRANSIENT as error:
            if not repeatable(error):
                raise
        fallback: Plain = await self._desk.aggregator("track", tracking=tracking)
        return fallback

    async def track_at_carrier(self, tracking: str) -> Plain:
        """Return where the carrier itself saw a parcel last."""
        ask = self._desk.carrier.ask("track", tracking=tracking)
        return await answer_of(ask, self._desk.clock, seconds_max=TRACKING_SECONDS_MAX)
