"""The warehouse that the night shift works in: its orders, its stock, and what is done to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chaosagent.canonical import Plain

ORDERS: Mapping[str, Mapping[str, str]] = {
    "N-1": {"item": "lamp", "to": "Oslo"},
    "N-2": {"item": "kettle", "to": "Bergen"},
    "N-3": {"item": "lamp", "to": "Narvik"},
}
SHELVES = {"lamp": "A4", "kettle": "C1"}


@dataclass(slots=True)
class Warehouse:
    """What changes during a night; made anew for every run.

    Attributes:
        open_orders: What is still to be sent.
        reserved: The items taken from a shelf, one entry each.
        pickups: The orders that a courier comes for, one entry a pickup.
        closed: Orders that count as sent.
    """

    open_orders: list[str]
    reserved: list[str] = field(default_factory=list)
    pickups: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    _keys: dict[str, int] = field(default_factory=dict)

    def open(self) -> Sequence[str]:
        """Return the orders that are to be sent tonight."""
        return list(self.open_orders)

    def get(self, order: str) -> Mapping[str, Plain]:
        """Return an order."""
        return {"order": order, **ORDERS[order]}

    def shelf(self, item: str) -> Mapping[str, Plain]:
        """Say where an item lies."""
        return {"item": item, "shelf": SHELVES[item]}

    def reserve(self, order: str, shelf: str, key: str) -> Mapping[str, Plain]:
        """Take an item from a shelf, once for each key."""
        repeated = key in self._keys
        if not repeated:
            self.reserved.append(order)
            self._keys[key] = len(self.reserved)
        return {"order": order, "shelf": shelf, "reservation": self._keys[key], "repeated": repeated}

    def quote(self, to: str) -> Mapping[str, Plain]:
        """Return what a courier costs."""
        return {"to": to, "price": 9 + len(to)}

    def book(self, order: str, to: str) -> Mapping[str, Plain]:
        """Have a courier come for an order; each call is a pickup of its own."""
        self.pickups.append(order)
        return {"order": order, "to": to, "pickup": len(self.pickups)}

    def find(self, order: str) -> Mapping[str, Plain]:
        """Say how many pickups an order has."""
        return {"order": order, "pickups": self.pickups.count(order)}

    def close(self, order: str) -> Mapping[str, Plain]:
        """Count an order as sent."""
        self.closed.append(order)
        return {"order": order, "closed": True}
