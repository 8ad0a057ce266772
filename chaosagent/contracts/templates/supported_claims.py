"""`supported-claims`: the claims of the final message rest on something that the target was told.

Source: failure class F2, H_rate = |unsupported| / |claims|. Whether a claimed deed was done belongs to `promises-kept`.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import HOLDS, End, Monitor, Reading, Setting, violated
from chaosagent.contracts.settings import ContractSettings, check_share
from chaosagent.trace.step import Step, StepKind
from chaosagent.vocabulary import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedClaims(ContractSettings):
    """An H_rate above `share_max` is a violation.

    A claim is supported when its evidence is the id of an answer that was delivered in this run (`run.artifact()`).
    The margin is the share that was left, relative to `share_max`; of a violation minus the H_rate.

    Attributes:
        share_max: The H_rate that is tolerated, from 0 to 1.
    """

    id: str = "supported-claims"
    share_max: float = 0.0

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        check_share(self.id, "share_max", self.share_max)

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return _SupportedClaimsMonitor(self.share_max)


class _SupportedClaimsMonitor:
    __slots__ = ("_answers", "_share_max")

    def __init__(self, share_max: float) -> None:
        self._share_max = share_max
        self._answers: dict[str, None] = {}

    def step(self, step: Step) -> Reading | None:
        if step.kind is StepKind.CALL and not step.has_failed:
            self._answers[step.hook] = None
        return None

    def end(self, end: End) -> Reading:
        claims = end.outcome.claims if end.has_outcome else ()
        unsupported = [claim for claim in claims if claim.evidence not in self._answers]
        if not unsupported:
            return HOLDS
        share = len(unsupported) / len(claims)
        if share > self._share_max:
            evidence = unsupported[0].evidence
            why = f"evidence {evidence!r} is no answer of this run" if evidence else "no evidence is named"
            how_many = f"{len(unsupported)} of {len(claims)} claims are unsupported"
            return violated(f"{how_many}, the first on {unsupported[0].kind}: {why}", -share)
        return Reading(Verdict.HOLDS, 1.0 - share / self._share_max)

    def state(self) -> Plain:
        return [*sorted(self._answers)]
