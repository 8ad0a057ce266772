"""Contracts that a random share of all behaviours breaks: whatever a rule prunes wrongly, one of them can tell.

Real contracts look at little of a run, so a search that overlooks a behaviour mostly gets away with it. These look at
everything: at the final state, or at each step and all before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.canonical import Plain, digest_of, pack
from chaosagent.contracts.contract import HOLDS, End, Reading, Setting, violated
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Outcome, Severity


@dataclass(frozen=True, slots=True)
class FinalNeedle:
    """Broken by one in `share` of the final states that differ from the nominal one.

    Attributes:
        share: How rare.
        number: Which of them.
        id: Of the contract.
        severity: Hard or soft.
        weight: Of the weighted step score.
        requires: A contract that must hold for a violation to count.
    """

    share: int = 8
    number: int = 0
    id: str = "final-needle"
    severity: Severity = Severity.HARD
    weight: float = 1.0
    requires: None = None

    def monitor(self, setting: Setting) -> _FinalMonitor:
        """Return a fresh check for one run."""
        return _FinalMonitor(self, None if setting.nominal is None else _final(setting.nominal.outcome))


class _FinalMonitor:
    def __init__(self, needle: FinalNeedle, nominal: str | None) -> None:
        self._needle, self._nominal = needle, nominal

    def step(self, step: Step) -> Reading | None:
        del step
        return None

    def end(self, end: End) -> Reading:
        final = _final(end.outcome if end.has_outcome else Outcome(success=False))
        if self._nominal is None or final == self._nominal or not _hit(final, self._needle.share, self._needle.number):
            return HOLDS
        return violated("the needle")

    def state(self) -> Plain:
        return None


@dataclass(frozen=True, slots=True)
class StepNeedle:
    """Broken by one in `share` of all steps, told apart by what was asked and answered.

    Attributes:
        share: How rare.
        number: Which of them.
        with_past: Told apart by all steps before, too, and by their times.
        id: Of the contract.
        severity: Hard or soft.
        weight: Of the weighted step score.
        requires: A contract that must hold for a violation to count.
    """

    share: int = 12
    number: int = 0
    with_past: bool = False
    id: str = "step-needle"
    severity: Severity = Severity.HARD
    weight: float = 1.0
    requires: None = None

    def monitor(self, setting: Setting) -> _StepMonitor:
        """Return a fresh check for one run."""
        del setting
        return _StepMonitor(self)


class _StepMonitor:
    def __init__(self, needle: StepNeedle) -> None:
        self._needle = needle
        self._past = ""

    def step(self, step: Step) -> Reading | None:
        now: list[Plain] = [step.kind.value, step.hook, step.request, step.response]
        if self._needle.with_past:
            self._past = digest_of([self._past, *now, step.asked_at, step.arrived_at])
            seen = self._past
        else:
            seen = digest_of(now)
        return violated("the needle") if _hit(seen, self._needle.share, self._needle.number) else None

    def end(self, end: End) -> Reading:
        del end
        return HOLDS

    def state(self) -> Plain:
        return self._past


def _final(outcome: Outcome) -> str:
    return digest_of([outcome.message, outcome.success, outcome.state])


def _hit(digest: str, share: int, number: int) -> bool:
    """Whether a digest is one of those meant."""
    return int(digest_of(pack([digest, number])), 16) % share == 0
