"""The tools with which the action agent changes the world."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.clients import TRANSIENT, answer_of, pause, repeatable
from chaosagent.experiments.triage.desk import Desk
from chaosagent.experiments.triage.doubts import Doubts
from chaosagent.experiments.triage.facts import text_of
from chaosagent.targets.target import Ask

RECONCILED_CENTS = 10_000
PENDING: Plain = {"status": "pending"}


class Writes:
    """Changes at one desk.

    What is not answered in time counts as pending in a first version, as the order system and the bank work off what
    they were sent; or it is sent again and then counts as failed; a desk that looks again finds out instead.
    """

    def __init__(self, desk: Desk, doubts: Doubts) -> None:
        self._desk, self._doubts = desk, doubts

    async def change_address(self, order_id: str, address: str) -> Plain:
        """Send an order somewhere else."""
        ask = self._desk.orders.ask("change_address", order_id=order_id, address=address)
        if not self._desk.practice.looks_again:
            return await self._unchecked(ask)
        await self._doubts.check_address(order_id)
        return await self._doubts.settled(self._written(ask), lambda: self._doubts.address_is(order_id, address))

    async def cancel_order(self, order_id: str) -> Plain:
        """Cancel an order."""
        ask = self._desk.orders.ask("cancel", order_id=order_id)
        if not self._desk.practice.looks_again:
            return await self._unchecked(ask)
        await self._doubts.check_open(order_id)
        return await self._doubts.settled(self._written(ask), lambda: self._doubts.is_cancelled(order_id))

    async def replace_order(self, order_id: str) -> Plain:
        """Send the goods of an order once more."""
        ask = self._desk.orders.ask("replace", order_id=order_id)
        if not self._desk.practice.looks_again:
            return await self._unchecked(ask)
        await self._doubts.check_lost(order_id)
        return await self._doubts.settled(self._written(ask), lambda: self._doubts.is_replaced(order_id))

    async def post_part(self, order_id: str, part: str) -> Plain:
        """Post a spare part."""
        looks_again = self._desk.practice.looks_again
        if looks_again:
            await self._doubts.check_part(order_id, part)
        key = await self._key(f"part {order_id} {part}")
        if key is None and self._desk.practice.needs_key:
            return {"error": "there is no idempotency key"}
        ask = self._desk.orders.ask("post_part", order_id=order_id, part=part, key=key)
        if not looks_again:
            return await self._unchecked(ask)
        return await self._doubts.settled(self._written(ask), lambda: self._doubts.is_posted(order_id, part))

    async def refund(self, order_id: str, amount: int, reason: str) -> Plain:
        """Pay an amount back."""
        looks_again = self._desk.practice.looks_again
        if looks_again:
            await self._doubts.check_refund(order_id, amount, reason)
        key = await self._key(f"refund {order_id} {amount}")
        if key is None and self._desk.practice.needs_key:
            return {"error": "there is no idempotency key"}
        ask = self._desk.payments.ask("refund", order_id=order_id, amount=amount, key=key)
        if looks_again:
            return await self._doubts.settled(self._written(ask), lambda: self._doubts.is_refunded(order_id, amount))
        try:
            if amount >= RECONCILED_CENTS:
                return await self._reconciled(ask, order_id, amount)
            return await self._written(ask)
        except TimeoutError:
            if not self._desk.practice.promises_pending:
                raise
            return PENDING

    async def _reconciled(self, ask: Ask, order_id: str, amount: int) -> Plain:
        """Before a large refund is sent again, ask the bank whether the first one was paid."""
        try:
            first: Plain = await ask.attempt()
        except TRANSIENT as error:
            if not repeatable(error):
                raise
            await self._desk.clock.sleep(pause(error, 1))
        else:
            return first
        try:
            if await self._doubts.is_refunded(order_id, amount):
                return {"order_id": order_id, "amount": amount}
        except TRANSIENT:
            pass  # the bank does not say; the customer waits for the money
        again: Plain = await ask.attempt()
        return again

    async def _key(self, purpose: str) -> str | None:
        """Return an idempotency key, `None` when the service for them has trouble."""
        try:
            issued: Plain = await self._desk.tokens("issue", purpose=purpose)
        except TRANSIENT:
            return None
        return text_of(issued, "key") or None

    async def _unchecked(self, ask: Ask) -> Plain:
        """Send a change to the order system, and believe what comes back, or does not."""
        if not self._desk.practice.promises_pending:
            return await self._written(ask)
        try:
            answer: Plain = await ask.attempt()
        except TimeoutError:
            return PENDING
        return answer

    async def _written(self, ask: Ask) -> Plain:
        return await answer_of(ask, self._desk.clock, attempts_max=self._desk.practice.writes_attempts_max)

    # ------------------------------------------------------------------ telling people

    async def send_email(self, to: str, subject: str, text: str) -> Plain:
        """Send an e-mail to the customer."""
        return await self._mailed("send", to=to, subject=subject, text=text)

    async def decline(self, to: str, reason: str) -> Plain:
        """Send the form letter that turns somebody away."""
        return await self._mailed("decline", to=to, reason=reason)

    async def _mailed(self, operation: str, **arguments: str) -> Plain:
        message_id = self._desk.message_id()
        ask = self._desk.mail.ask(operation, **arguments, message_id=message_id)
        if not self._desk.practice.looks_again:
            return await self._written(ask)
        return await self._doubts.settled(self._written(ask), lambda: self._doubts.is_sent(message_id))

    async def acknowledge(self, to: str) -> Plain:
        """Send the form letter."""
        desk = self._desk
        return await self._written(desk.mail.ask("acknowledge", to=to, message_id=desk.message_id()))

    async def update_ticket(self, status: str) -> Plain:
        """Set the status of the ticket."""
        desk = self._desk
        answer = await self._written(desk.tickets.ask("update", ticket_id=desk.ticket_id, status=status))
        desk.declined = status == "declined"
        return answer

    async def ask_person(self, reason: str) -> Plain:
        """Hand the ticket to a person."""
        desk = self._desk
        ask = desk.people.ask("hand_over", ticket_id=desk.ticket_id, reason=reason)
        return await answer_of(ask, desk.clock, attempts_max=4)
