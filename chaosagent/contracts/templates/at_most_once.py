"""`at-most-once`: nothing of consequence is done twice.

Source: base template "at-most-once side effects". Effects are the same one when their keys, kind and declared
identity, are equal.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import HOLDS, End, Looks, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import nominal_counts
from chaosagent.contracts.settings import BROKEN, ContractSettings
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Impact, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMostOnce(ContractSettings):
    """A high-impact effect committed more often than in the nominal run, and more than once, is a violation.

    The margin is the smallest share, over the effects, of commits that were left before the violating one.
    """

    id: str = "at-most-once"

    def monitor(self, setting: Setting) -> Monitor:
        """Return a fresh check for one run."""
        return _AtMostOnceMonitor(None if setting.nominal is None else nominal_counts(setting.nominal))


class _AtMostOnceMonitor:
    __slots__ = ("_counts", "_margin", "_nominal")

    looks: ClassVar[Looks] = Looks.EFFECTS

    def __init__(self, nominal: Counter[str] | None) -> None:
        self._nominal = nominal
        self._counts: dict[str, int] = {}
        self._margin = 1.0

    def step(self, step: Step) -> Reading | None:
        if not step.effects or self._nominal is None or self._margin < 0.0:
            return None
        reading = None
        for effect in step.effects:
            if effect.impact is not Impact.HIGH:
                continue
            key = effect.key
            count = self._counts[key] = self._counts.get(key, 0) + 1
            allowed = max(1, self._nominal[key])
            if count > allowed:
                self._margin = -1.0
                return violated(f"{key} was committed {count} times; {allowed} is right")
            margin = 1.0 - count / (allowed + 1)
            if margin < self._margin:
                self._margin = margin
                reading = Reading(Verdict.HOLDS, margin)
        return reading

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        return HOLDS if self._margin == 1.0 else Reading(Verdict.HOLDS, self._margin)

    def state(self) -> Plain:
        if self._margin < 0.0:
            return BROKEN
        return {key: self._counts[key] for key in sorted(self._counts)}
