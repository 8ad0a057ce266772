"""The shop and the mail service behind the agent, new in every run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from chaosagent.canonical import Plain
from chaosagent.vocabulary import Effect, StatusError

ORDERS: Mapping[str, dict[str, Any]] = {"A-17": {"order": "A-17", "amount": 40, "status": "lost"}}


class Books:
    """Writes what was done; a key that comes again is recognised."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.entries: list[dict[str, Any]] = []
        self._keys: dict[str, dict[str, Any]] = {}

    def add(self, order: str, key: str = "", **facts: Any) -> dict[str, Any]:
        """Write something down, once for each key."""
        if key and key in self._keys:
            return {**self._keys[key], "repeated": True}
        entry = {"order": order, "number": len(self.entries) + 1, **facts}
        self.entries.append(entry)
        if key:
            self._keys[key] = entry
        return {**entry, "repeated": False}

    def of(self, order: str) -> list[dict[str, Any]]:
        """Return what was written of an order."""
        return [entry for entry in self.entries if entry["order"] == order]


def shop() -> dict[str, Callable[..., Any]]:
    """Return the operations of a shop."""
    books = Books("refund")

    def get(order: str) -> dict[str, Any]:
        if order not in ORDERS:
            raise StatusError(404, json.dumps({"error": f"there is no order {order}"}))
        return ORDERS[order]

    def refund(order: str, amount: float, key: str = "") -> dict[str, Any]:
        return books.add(get(order)["order"], key, amount=amount)

    return {
        "GET /orders/{order}": get,
        "GET /policy": lambda: {"refund": "lost"},
        "POST /refunds": refund,
        "GET /refunds/{order}": lambda order: {"refunds": len(books.of(order))},
        "state": lambda: books.entries,
    }


def mail() -> dict[str, Callable[..., Any]]:
    """Return the operations of a mail service."""
    books = Books("mail")
    return {"POST /mails": books.add, "state": lambda: books.entries}


def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a refund committed: nothing when its key was known."""
    return _committed("refund", arguments, answer)


def sent(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a mail committed: nothing when its key was known."""
    return _committed("mail", arguments, answer)


def _committed(kind: str, arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    repeated = isinstance(answer, Mapping) and answer.get("repeated")
    return None if repeated else Effect(kind, {"order": arguments["order"]})
