"""Stress tests and fault-injection search for agent systems.

A target needs only what stands here:

    import chaosagent

    @chaosagent.target(tasks=[chaosagent.Task("refund", input={"order": 7})])
    async def shop(task, run):
        payments = run.service("payments", Payments(), effects={"refund": chaosagent.effect("order", "amount")})
        ...
        return chaosagent.Outcome("done", success=True)

Then `chaosagent search study.yaml` finds the cheapest faults that break it. Names are loaded on first use, so importing
the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaosagent.contracts.custom import contract
    from chaosagent.contracts.temporal import always, count, never, since, until, within
    from chaosagent.errors import ChaosAgentError, UsageError
    from chaosagent.execution.untraced import UntracedRun
    from chaosagent.governance.capability import Capability, CapabilitySet
    from chaosagent.governance.mediator import Mediator, PolicyMediator, Ruling
    from chaosagent.targets.deterministic import deterministic
    from chaosagent.targets.target import Run, Target, effect, fresh, target
    from chaosagent.vocabulary import (
        ActionBlocked,
        Claim,
        Effect,
        Impact,
        Labels,
        Mediation,
        Outcome,
        StatusError,
        SystemConfig,
        Task,
    )

    __version__: str

__all__ = [
    "ActionBlocked",
    "Capability",
    "CapabilitySet",
    "ChaosAgentError",
    "Claim",
    "Effect",
    "Impact",
    "Labels",
    "Mediation",
    "Mediator",
    "Outcome",
    "PolicyMediator",
    "Ruling",
    "Run",
    "StatusError",
    "SystemConfig",
    "Target",
    "Task",
    "UntracedRun",
    "UsageError",
    "always",
    "contract",
    "count",
    "deterministic",
    "effect",
    "fresh",
    "never",
    "since",
    "target",
    "until",
    "within",
]

_HOMES = {
    **dict.fromkeys(("always", "count", "never", "since", "until", "within"), "chaosagent.contracts.temporal"),
    **dict.fromkeys(("ChaosAgentError", "UsageError"), "chaosagent.errors"),
    **dict.fromkeys(("Run", "Target", "effect", "fresh", "target"), "chaosagent.targets.target"),
    **dict.fromkeys(("Capability", "CapabilitySet"), "chaosagent.governance.capability"),
    **dict.fromkeys(("Mediator", "PolicyMediator", "Ruling"), "chaosagent.governance.mediator"),
    "UntracedRun": "chaosagent.execution.untraced",
    "contract": "chaosagent.contracts.custom",
    "deterministic": "chaosagent.targets.deterministic",
}


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use."""
    if name == "__version__":
        from importlib.metadata import version

        found: object = version("chaosagent")
    elif name in __all__:
        found = getattr(importlib.import_module(_HOMES.get(name, "chaosagent.vocabulary")), name)
    else:
        raise AttributeError(f"module 'chaosagent' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
