"""`all-or-nothing`: the work of the run without faults is done, or none of it, or the target stopped safely.

A safe stop is half-done work followed by an effect labelled `COMPENSATING`: one that undoes what was done, or hands the
matter to a person.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import HOLDS, End, Looks, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import nominal_counts
from chaosagent.contracts.settings import ContractSettings
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Ending, Impact


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOrNothing(ContractSettings):
    """A run that ends with some but not all high-impact effects of the nominal run is a violation.

    It is none when a compensating effect was committed after the last of them. Effects that the nominal run did not
    commit belong to `no-extra-effects`. The margin of a violation is minus the share of the work that is missing.
    Without a nominal run the contract holds.
    """

    needs_nominal: ClassVar[bool] = True
    id: str = "all-or-nothing"

    def monitor(self, setting: Setting) -> Monitor:
        """Return a fresh check for one run."""
        return _AllOrNothingMonitor(Counter() if setting.nominal is None else nominal_counts(setting.nominal))


class _AllOrNothingMonitor:
    __slots__ = ("_compensated", "_done", "_left", "_nominal")

    looks: ClassVar[Looks] = Looks.EFFECTS

    def __init__(self, nominal: Counter[str]) -> None:
        self._nominal = nominal
        self._left = dict(nominal)
        self._done = 0
        self._compensated = False

    def step(self, step: Step) -> Reading | None:
        if not step.effects or not self._nominal:
            return None
        for effect in step.effects:
            if effect.impact is Impact.COMPENSATING:
                self._compensated = self._done > 0
            elif effect.impact is Impact.HIGH:
                key = effect.key
                left = self._left.get(key)
                if left is None:
                    continue
                self._compensated = False
                if left:
                    self._left[key] = left - 1
                    self._done += 1
        return None

    def end(self, end: End) -> Reading:
        total = self._nominal.total()
        missing = total - self._done
        if not self._done or not missing or self._compensated:
            return HOLDS
        first = next(key for key in sorted(self._left) if self._left[key])
        more = f" and {missing - 1} more" if missing > 1 else ""
        why = " (the run finished)" if end.ending is Ending.FINISHED else f" (the run ended with {end.ending.value})"
        return violated(
            f"half done: {self._done} of {total} effects committed, {first}{more} is missing{why}",
            -missing / total,
        )

    def state(self) -> Plain:
        return [self._compensated, {key: left for key, left in sorted(self._left.items()) if left}]
