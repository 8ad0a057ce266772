"""Copies that an adapter makes of the objects of a target, which stay as they are."""

from __future__ import annotations

from typing import Any


class Copies:
    """What was made of objects, found by their identity: an object is copied once, wherever it stands."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}  # with the object itself, so that no other one gets its id

    def of(self, given: object) -> Any:
        """Return what was made of an object; `None` for nothing."""
        known = self._made.get(id(given))
        return None if known is None else known[1]

    def keep(self, given: object, made: Any) -> Any:
        """Remember what was made of an object, and return it."""
        self._made[id(given)] = (given, made)
        return made

    def clear(self) -> None:
        """Forget everything."""
        self._made.clear()
