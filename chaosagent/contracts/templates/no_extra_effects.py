"""`no-extra-effects`: nothing of consequence is done that the run without faults did not do.

Effects are compared by their key, kind and declared identity, never by generated ids or times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import HOLDS, End, Looks, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import nominal_counts
from chaosagent.contracts.settings import BROKEN, ContractSettings
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Impact


@dataclass(frozen=True, slots=True, kw_only=True)
class NoExtraEffects(ContractSettings):
    """A committed high-impact effect that the nominal run did not commit is a violation.

    How often it is committed belongs to `at-most-once`. Without a nominal run the contract holds.
    """

    needs_nominal: ClassVar[bool] = True
    id: str = "no-extra-effects"

    def monitor(self, setting: Setting) -> Monitor:
        """Return a fresh check for one run."""
        return _NoExtraEffectsMonitor(None if setting.nominal is None else nominal_counts(setting.nominal))


class _NoExtraEffectsMonitor:
    __slots__ = ("_broken", "_nominal")

    looks: ClassVar[Looks] = Looks.EFFECTS

    def __init__(self, nominal: Mapping[str, int] | None) -> None:
        self._nominal, self._broken = nominal, False

    def step(self, step: Step) -> Reading | None:
        if not step.effects or self._nominal is None:
            return None
        for effect in step.effects:
            if effect.impact is Impact.HIGH and effect.key not in self._nominal:
                self._broken = True
                return violated(f"{effect.key} was committed; without faults it is not")
        return None

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        return HOLDS

    def state(self) -> Plain:
        return BROKEN if self._broken else ""
