"""`role-boundary`: an agent keeps to what its role does.

Source: failure class F3 (role drift): D_i(τ), the share of agent i's actions outside the allowed actions of its role
contract R_i.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import End, Monitor, Reading, Setting, violated
from chaosagent.contracts.pattern import StepPattern, acts, step_pattern
from chaosagent.contracts.settings import BROKEN, ContractSettings, check_share, check_texts, settle
from chaosagent.errors import UsageError
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Boundary, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleBoundary(ContractSettings):
    """An agent with a share D_i of actions outside its role above `share_max` is a violation.

    Asking a model is thinking and no action, so it counts neither as one nor among all.

    With a `share_max` of 0 the first such action is one; otherwise the end of the run decides. The margin is the share
    that was left, relative to `share_max`; of a violation at the end minus D_i of the worst agent.

    Attributes:
        allowed: By role, the step patterns of its actions; a role that is not named may do anything.
        share_max: The D_i that is tolerated, from 0 to 1.
    """

    semantics: ClassVar[int] = 2
    id: str = "role-boundary"
    allowed: Mapping[str, str | tuple[str, ...]]
    share_max: float = 0.0

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        check_share(self.id, "share_max", self.share_max)
        allowed: object = self.allowed
        if not isinstance(allowed, Mapping):
            raise UsageError(f"{self.id}(allowed={allowed!r}): allowed must be a mapping from roles to step patterns.")
        checked = {role: check_texts(self.id, f"allowed[{role!r}]", texts) for role, texts in allowed.items()}
        for texts in checked.values():
            step_pattern(texts)
        settle(self, allowed=checked)

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        patterns = {role: step_pattern(tuple(texts)) for role, texts in self.allowed.items()}
        return _RoleBoundaryMonitor(patterns, self.share_max)


class _RoleBoundaryMonitor:
    __slots__ = ("_allowed", "_broken", "_counts", "_share_max")

    def __init__(self, allowed: Mapping[str, StepPattern], share_max: float) -> None:
        self._allowed, self._share_max = allowed, share_max
        self._counts: dict[str, tuple[int, int]] = {}  # by agent: actions outside its role, all actions
        self._broken = False

    def step(self, step: Step) -> Reading | None:
        allowed = self._allowed.get(step.role)
        if allowed is None or step.boundary is Boundary.MODEL or not acts(step):
            return None
        inside = allowed(step)
        if self._share_max == 0.0:
            if inside:
                return None
            self._broken = True
            return violated(f"{_who(step.agent)} did {step.operation} at {step.interface}; no part of {step.role!r}")
        outside, total = self._counts.get(step.agent, (0, 0))
        self._counts[step.agent] = (outside + (not inside), total + 1)
        return None

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        shares = {agent: outside / total for agent, (outside, total) in sorted(self._counts.items())}
        worst = max(shares, key=lambda agent: shares[agent], default="")
        share = shares.get(worst, 0.0)
        if share > self._share_max:
            outside, total = self._counts[worst]
            return violated(f"{_who(worst)} left its role in {outside} of {total} actions", -share)
        return Reading(Verdict.HOLDS, 1.0 if share == 0.0 else 1.0 - share / self._share_max)

    def state(self) -> Plain:
        return BROKEN if self._broken else {agent: self._counts[agent] for agent in sorted(self._counts)}


def _who(agent: str) -> str:
    return agent or "the agent"
