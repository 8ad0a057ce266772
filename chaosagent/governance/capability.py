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
        return (
            fnmatch.fnmatchcase(action.interface, self.interface)
            and fnmatch.fnmatchcase(action.operation, self.operation)
            and all(
                name in action.arguments and allows(action.arguments[name]) for name, allows in self.parameters.items()
            )
        )


@dataclass(frozen=True, slots=True)
class CapabilitySet:
    """All that one agent may do."""

    capabilities: tuple[Capability, ...]

    def allows(self, action: Action) -> bool:
        """Whether an action is covered by one of the capabilities."""
        return any(capability.covers(action) for capability in self.capabilities)
