"""The mediator Π: asked before an action takes effect, it allows, rewrites or blocks (1.7 of the specification)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.governance.action import Action
from chaosagent.governance.capability import CapabilitySet
from chaosagent.vocabulary import Mediation


class Ruling(NamedTuple):
    """What a mediator decided.

    Attributes:
        mediation: Allow, rewrite or block.
        reason: One line, shown to the agent when it blocks.
        arguments: The new arguments of a rewrite, all of them; `None` leaves them as they are.
    """

    mediation: Mediation
    reason: str = ""
    arguments: Mapping[str, Plain] | None = None


ALLOW = Ruling(Mediation.ALLOW)


class Mediator(Protocol):
    """Decides on every action of a run. It may keep state; then it belongs to one run."""

    def decide(self, action: Action) -> Ruling: ...

    def state(self) -> Plain:
        """Return all that its future decisions depend on, for rule R3."""
        ...


Policy: TypeAlias = Callable[[Action], "Ruling | None"]


@dataclass(frozen=True, slots=True)
class PolicyMediator:
    """Capabilities first, then policies in order; what none of them stops is allowed.

    Attributes:
        capabilities: Per agent, what it may do (K_i); an agent that is not named may do anything. `None` checks nobody.
        policies: Each returns a ruling or `None`; the first block ends the question, a rewrite is handed on.
    """

    capabilities: Mapping[str, CapabilitySet] | None = None
    policies: Sequence[Policy] = ()

    def decide(self, action: Action) -> Ruling:
        """Return the ruling on an action."""
        if self.capabilities is not None:
            allowed = self.capabilities.get(action.agent)
            if allowed is not None and not allowed.allows(action):
                return Ruling(
                    Mediation.BLOCK, f"{action.agent or 'the agent'} may not {action.operation} at {action.interface}"
                )
        ruling = ALLOW
        for policy in self.policies:
            found = policy(action)
            if found is None or found.mediation is Mediation.ALLOW:
                continue
            if found.mediation is Mediation.BLOCK:
                return found
            if found.arguments is not None:
                action = action._replace(arguments=found.arguments)
            ruling = found._replace(arguments=action.arguments)
        return ruling

    def state(self) -> Plain:
        """Return nothing: it keeps no state."""
        return None
