"""Arguments on their way through a door, to find out what an injection has changed in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaosagent.canonical import pack


class SentArguments:
    """Arguments as they were when they were sent.

    Args:
        arguments: Plain data by name.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._packed = {name: pack(value) for name, value in arguments.items()}

    def changed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that are new or have another value."""
        return {name: value for name, value in given.items() if pack(value) != self._packed.get(name)}

    def is_left(self, given: object) -> bool:
        """Whether what arrives are the arguments as they were sent."""
        return isinstance(given, Mapping) and given.keys() == self._packed.keys() and not self.changed(given)
