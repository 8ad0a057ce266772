"""Capabilities: what one agent may do (K_i of 1.7 of the specification)."""

from __future__ import annotations

import fnmatch
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
        return self.names(action.interface, action.operation) and self.fits(action.arguments)

    def names(self, interface: str, operation: str) -> bool:
        """Whether an operation of an interface is among those meant."""
        return fnmatch.fnmatchcase(interface, self.interface) and fnmatch.fnmatchcase(operation, self.operation)

    def fits(self, arguments: Mapping[str, Plain]) -> bool:
        """Whether arguments are among those meant."""
        return all(name in arguments and allows(arguments[name]) for name, allows in self.parameters.items())


@dataclass(frozen=True, slots=True)
class CapabilitySet:
    """All that one agent may do."""

    capabilities: tuple[Capability, ...]
    _known: dict[tuple[str, str], tuple[Capability, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def allows(self, action: Action) -> bool:
        """Whether an action is covered by one of the capabilities."""
        about = (action.interface, action.operation)
        known = self._known.get(about)  # asked at every crossing: matching the patterns anew costs four times as much
        if known is None:
            known = tuple(one for one in self.capabilities if one.names(*about))
            if len(self._known) < KNOWN_MAX:
                self._known[about] = known
        for capability in known:  # noqa: SIM110  # any() costs twice as much
            if not capability.parameters or capability.fits(action.arguments):
                return True
        return False


KNOWN_MAX = 4096
"""For how many operations a set of capabilities keeps which of them name it."""
