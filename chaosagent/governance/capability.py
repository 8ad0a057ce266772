"""Capabilities: what one agent may do (K_i of 1.7 of the specification)."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chaosagent.canonical import Plain
from chaosagent.governance.action import Action


@dataclass(frozen=True, slots=True)
class Capability:
    """Leave to call some operations of some interfaces.

    Attributes:
        interface: Glob pattern, such as `"service:orders"` or `"service:*"`.
        operation: Glob pattern, such as `"get_*"`.
        parameters: Per argument, what its value may be; an argument that is not named may be anything.
    """

    interface: str
    operation: str = "*"
    parameters: Mapping[str, Callable[[Plain], bool]] = field(default_factory=dict)

    def covers(self, action: Action) -> bool:
        """Whether an action needs no more than this."""
        if not (_matches(action.interface, self.interface) and _matches(action.operation, self.operation)):
            return False
        if not self.parameters:
            return True
        arguments = action.arguments
        return all(name in arguments and allows(arguments[name]) for name, allows in self.parameters.items())


@functools.lru_cache(maxsize=4096)
def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern)


@dataclass(frozen=True, slots=True)
class CapabilitySet:
    """All that one agent may do."""

    capabilities: tuple[Capability, ...]

    def allows(self, action: Action) -> bool:
        """Whether an action is covered by one of the capabilities."""
        for capability in self.capabilities:  # noqa: SIM110  # asked at every crossing; any() costs twice as much
            if capability.covers(action):
                return True
        return False
