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
    from chaosagent.api.check_traces import CheckResult, check
    from chaosagent.api.counterexample import Counterexample
    from chaosagent.api.load_study import load
    from chaosagent.api.replays.replay_records import ReplayResult, replay
    from chaosagent.api.result import StudyResult
    from chaosagent.api.rows import Certificate, Trial
    from chaosagent.api.search_study import search
    from chaosagent.api.study import Study
    from chaosagent.contracts.custom import contract
    from chaosagent.contracts.temporal import always, count, never, since, until, within
    from chaosagent.effects.rule import effect
    from chaosagent.errors import ChaosAgentError, UsageError
    from chaosagent.execution.untraced import UntracedRun
    from chaosagent.governance.capability import Capability, CapabilitySet
    from chaosagent.governance.mediator import Mediator, PolicyMediator, Ruling
    from chaosagent.targets.deterministic import deterministic
    from chaosagent.targets.target import Run, Target, fresh, target
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
    "Certificate",
    "ChaosAgentError",
    "CheckResult",
    "Claim",
    "Counterexample",
    "Effect",
    "Impact",
    "Labels",
    "Mediation",
    "Mediator",
    "Outcome",
    "PolicyMediator",
    "ReplayResult",
    "Ruling",
    "Run",
    "StatusError",
    "Study",
    "StudyResult",
    "SystemConfig",
    "Target",
    "Task",
    "Trial",
    "UntracedRun",
    "UsageError",
    "always",
    "check",
    "contract",
    "count",
    "deterministic",
    "effect",
    "fresh",
    "load",
    "never",
    "replay",
    "search",
    "since",
    "target",
    "until",
    "within",
]

_HOMES = {
    **dict.fromkeys(("always", "count", "never", "since", "until", "within"), "chaosagent.contracts.temporal"),
    **dict.fromkeys(("ChaosAgentError", "UsageError"), "chaosagent.errors"),
    **dict.fromkeys(("Run", "Target", "fresh", "target"), "chaosagent.targets.target"),
    **dict.fromkeys(("Capability", "CapabilitySet"), "chaosagent.governance.capability"),
    **dict.fromkeys(("Mediator", "PolicyMediator", "Ruling"), "chaosagent.governance.mediator"),
    **dict.fromkeys(("CheckResult", "check"), "chaosagent.api.check_traces"),
    **dict.fromkeys(("ReplayResult", "replay"), "chaosagent.api.replays.replay_records"),
    **dict.fromkeys(("Certificate", "Trial"), "chaosagent.api.rows"),
    "Counterexample": "chaosagent.api.counterexample",
    "Study": "chaosagent.api.study",
    "StudyResult": "chaosagent.api.result",
    "load": "chaosagent.api.load_study",
    "search": "chaosagent.api.search_study",
    "UntracedRun": "chaosagent.execution.untraced",
    "contract": "chaosagent.contracts.custom",
    "effect": "chaosagent.effects.rule",
    "deterministic": "chaosagent.targets.deterministic",
}


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use."""
    if name == "__version__":
        from chaosagent.version import version

        found: object = version()
    elif name in __all__:
        found = getattr(importlib.import_module(_HOMES.get(name, "chaosagent.vocabulary")), name)
    else:
        raise AttributeError(f"module 'chaosagent' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
