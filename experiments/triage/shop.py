"""Orders, customers and tickets: the services of the shop itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.database import TODAY, YESTERDAY, Database
from chaosagent.experiments.triage.facts import text_of
from chaosagent.vocabulary import Effect, StatusError

RETURN_DAYS = 30
OPEN_STATUSES = ("paid", "packed")


class Orders:
    """The order system. Reads are answered by a replica, which may lag behind."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_order(self, order_id: str) -> dict[str, Plain]:
        """Return an order with its items; 404 when there is none."""
        return self.as_of(order_id, TODAY)

    def as_of(self, order_id: str, day: str) -> dict[str, Plain]:
        """Return an order as it stood at the end of a day."""
        found = self._database.row(
            "SELECT customer_id, tracking, delivered_on, o.status, e.status, version FROM orders o "
            "JOIN order_events e USING (order_id) WHERE order_id = ? AND day <= ? ORDER BY version DESC LIMIT 1",
            order_id,
            day,
        )
        if found is None:
            raise StatusError(404, f"no order {order_id}")
        customer_id, tracking, delivered_on, status, status_then, version = found
        items = self._database.rows("SELECT name, price, clearance FROM items WHERE order_id = ?", order_id)
        return {
            "order_id": order_id,
            "customer_id": customer_id,
            "status": status if day == TODAY else status_then,
            "version": version,
            "tracking": tracking if status_then in ("shipped", "delivered") else "",
            "delivered_on": delivered_on if status_then == "delivered" else "",
            "items": [{"name": name, "price": price, "clearance": bool(rest)} for name, price, rest in items],
        }

    def stale(self, operation: str, arguments: Mapping[str, Plain]) -> Plain:
        """Return what a replica would still answer that has not seen today; `LookupError` for what changes things."""
        if operation != "get_order":
            raise LookupError(operation)
        try:
            return self.as_of(text_of(arguments, "order_id"), YESTERDAY)
        except StatusError as error:
            raise LookupError(error.message) from error

    def change_address(self, order_id: str, address: str) -> dict[str, Plain]:
        """Send an order that has not left yet somewhere else; 409 when it has. Saying it twice changes nothing."""
        changed = self._database.write(
            "UPDATE orders SET address = ? WHERE order_id = ? AND status IN ('paid', 'packed') AND address <> ?",
            address,
            order_id,
            address,
        )
        if not changed and self._field("address", order_id) != address:
            raise StatusError(409, f"order {order_id} has left the warehouse")
        return {"order_id": order_id, "address": address, "changed": bool(changed)}

    def cancel(self, order_id: str) -> dict[str, Plain]:
        """Cancel an order, wherever it is: the warehouse recalls what has left. Saying it twice changes nothing."""
        changed = self._database.write(
            "UPDATE orders SET status = 'cancelled' WHERE order_id = ? AND status <> 'cancelled'", order_id
        )
        if not changed and self._field("status", order_id) is None:
            raise StatusError(404, f"no order {order_id}")
        return {"order_id": order_id, "changed": bool(changed)}

    def replace(self, order_id: str) -> dict[str, Plain]:
        """Send the goods of an order once more, at most once for each order."""
        if self._field("status", order_id) is None:
            raise StatusError(404, f"no order {order_id}")
        changed = self._database.write("INSERT OR IGNORE INTO replacements VALUES (?)", order_id)
        return {"order_id": order_id, "changed": bool(changed)}

    def post_part(self, order_id: str, part: str, key: str | None = None) -> dict[str, Plain]:
        """Post a spare part to the address of an order; without an idempotency key every call posts one."""
        if self._field("status", order_id) is None:
            raise StatusError(404, f"no order {order_id}")
        changed = self._database.write(
            "INSERT OR IGNORE INTO posted_parts (order_id, part, idempotency_key) VALUES (?, ?, ?)", order_id, part, key
        )
        return {"order_id": order_id, "part": part, "changed": bool(changed)}

    def _field(self, column: str, order_id: str) -> Plain:
        found = self._database.row(f"SELECT {column} FROM orders WHERE order_id = ?", order_id)
        return None if found is None else found[0]


def changed_address(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return the effect of `change_address`: none when nothing changed."""
    return _order_effect("orders.change_address", answer, address=arguments["address"])


def cancelled(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:  # noqa: ARG001  # an effect rule's
    """Return the effect of `cancel`: none when nothing changed."""
    return _order_effect("orders.cancel", answer)


def replaced(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:  # noqa: ARG001  # an effect rule's
    """Return the effect of `replace`: none when nothing changed."""
    return _order_effect("orders.replace", answer)


def posted_part(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return the effect of `post_part`: none when the key had been used."""
    return _order_effect("orders.post_part", answer, part=arguments["part"])


def _order_effect(kind: str, answer: Plain, **more: Plain) -> Effect | None:
    if not isinstance(answer, Mapping) or not answer["changed"]:
        return None
    return Effect(kind, {"order_id": answer["order_id"], **more})


class Primary:
    """The order system's primary database: slower and dearer to ask, and never behind."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def confirm_order(self, order_id: str) -> dict[str, Plain]:
        """Return what must be known before something irreversible is done to an order; 404 when there is none."""
        found = self._database.row(
            "SELECT status, address, delivered_on, tracking, agreed, email FROM orders "
            "JOIN customers USING (customer_id) WHERE order_id = ?",
            order_id,
        )
        if found is None:
            raise StatusError(404, f"no order {order_id}")
        status, address, delivered_on, tracking, agreed, email = found
        items = self._database.rows("SELECT name, price, clearance FROM items WHERE order_id = ?", order_id)
        replaced = self._database.row("SELECT 1 FROM replacements WHERE order_id = ?", order_id)
        refunds = self._database.rows("SELECT amount FROM refunds WHERE order_id = ? ORDER BY refund_id", order_id)
        parts = self._database.rows("SELECT part FROM posted_parts WHERE order_id = ? ORDER BY number", order_id)
        on_time = bool(delivered_on) and _days_since(str(delivered_on)) <= RETURN_DAYS
        return {
            "order_id": order_id,
            "status": status,
            "address": address,
            "tracking": tracking,
            "email": email,
            "replaced": replaced is not None,
            "agreed": agreed,
            "refunded": [amount for (amount,) in refunds],
            "parts": [part for (part,) in parts],
            "prices": [price for _, price, _ in items],
            "returnable": [price for _, price, clearance in items if on_time and not clearance],
        }


class Customers:
    """The customer register."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, email: str) -> dict[str, Plain]:
        """Return who uses an e-mail address; 404 when nobody does."""
        found = self._database.row("SELECT customer_id, name FROM customers WHERE email = ?", email)
        if found is None:
            raise StatusError(404, "no such customer")
        return {"customer_id": found[0], "name": found[1], "email": email}

    def read_file(self, email: str) -> dict[str, Plain]:
        """Return everything that is known about a customer; 404 when there is none."""
        found = self._database.row("SELECT customer_id, name, file FROM customers WHERE email = ?", email)
        if found is None:
            raise StatusError(404, "no such customer")
        return {"customer_id": found[0], "name": found[1], "email": email, "file": found[2]}


class Tickets:
    """The ticket system."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def update(self, ticket_id: str, status: str) -> dict[str, Plain]:
        """Set the status of a ticket: `solved`, `declined` or `waiting`."""
        self._database.write("UPDATE tickets SET status = ? WHERE ticket_id = ?", status, ticket_id)
        return {"ticket_id": ticket_id, "status": status}


class People:
    """The queue of the people who take over where the assistant stops."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def hand_over(self, ticket_id: str, reason: str) -> dict[str, Plain]:
        """Put a ticket into the queue; saying it twice changes nothing."""
        self._database.write(
            "UPDATE tickets SET status = 'with a person', reason = ? WHERE ticket_id = ? AND status <> 'with a person'",
            reason,
            ticket_id,
        )
        return {"ticket_id": ticket_id}


def _days_since(day: str) -> int:
    return (date.fromisoformat(TODAY) - date.fromisoformat(day)).days
