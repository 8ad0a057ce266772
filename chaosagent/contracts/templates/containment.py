"""`containment`: every fault is noticed, dealt with, and does no lasting harm.

Source: Eq. 10: a fault at step t is detected (a record says so) by t' ≤ t + w and mitigated (retry with backoff,
alternate service, replan, clarification, escalation) by t'' ≤ t' + w', and the final contracts still hold.

A fault is an injection that landed; it is part of the trace. The target says what it noticed with
`run.note("detected")` and what it did about it with `run.note("mitigated")`. With `hook="service:crm[2]@planner"` a
note is about the fault there, without it about every fault that waits for such a note.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import Contract, End, Monitor, Reading, Setting, needs_nominal, violated
from chaosagent.contracts.settings import BROKEN, ContractSettings, check_whole, settle
from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.errors import UsageError
from chaosagent.trace.step import Step, StepKind
from chaosagent.vocabulary import Landing, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment(ContractSettings):
    """A fault that is not detected in time, not mitigated in time, or followed by a broken contract is a violation.

    Final contracts that are broken in a run without fault are no matter of containment. The margin is the share of a
    window that was left at the closest approach.

    Attributes:
        detected_steps: The window w, 1 or more steps.
        mitigated_steps: The window w', 1 or more steps after the detection.
        final: The final contracts; the default contracts when nothing is given.
    """

    sees_faults: ClassVar[bool] = True
    id: str = "containment"
    detected_steps: int = 5
    mitigated_steps: int = 10
    final: tuple[Contract, ...] | None = None

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        check_whole(self.id, "detected_steps", self.detected_steps)
        check_whole(self.id, "mitigated_steps", self.mitigated_steps)
        final: object = self.final
        if final is None:
            return
        if not isinstance(final, list | tuple) or not all(isinstance(contract, Contract) for contract in final):
            raise UsageError(f"{self.id}(final={final!r}): final must be a list of contracts, or of their names.")
        settle(self, final=tuple(final))

    @property
    def needs_nominal(self) -> bool:
        """Whether one of the final contracts compares with the run without injections."""
        return any(needs_nominal(contract) for contract in (default_contracts() if self.final is None else self.final))

    def monitor(self, setting: Setting) -> Monitor:
        """Return a fresh check for one run."""
        final = default_contracts() if self.final is None else self.final
        watched = {contract.id: contract.monitor(setting) for contract in final}
        return _ContainmentMonitor(self.detected_steps, self.mitigated_steps, watched)


class _ContainmentMonitor:
    __slots__ = ("_broken", "_detected", "_faulty", "_final", "_margin", "_now", "_undetected", "_windows", "_worse")

    def __init__(self, detected_steps: int, mitigated_steps: int, final: dict[str, Monitor]) -> None:
        self._windows = (detected_steps, mitigated_steps)
        self._final = final
        self._worse = ""  # what the first broken final contract says
        self._undetected: dict[str, int] = {}  # by hook, when the fault landed, oldest first
        self._detected: dict[str, int] = {}  # by hook, when it was detected, oldest first
        self._now = -1
        self._faulty = self._broken = False
        self._margin = 1.0

    def step(self, step: Step) -> Reading | None:
        if self._broken:
            return None
        self._now += 1
        if self._final:
            self._watch_final(step)
        if step.landed is not None and step.landed.landing is Landing.LANDED:
            self._faulty = True
            if step.hook not in self._undetected:
                self._undetected[step.hook] = self._now
        if self._worse and self._faulty:
            return self._break(self._worse)
        if not self._undetected and not self._detected:
            return None
        heard = self._hear(step) if step.kind is StepKind.NOTE else None
        return self._overdue() or heard

    def _watch_final(self, step: Step) -> None:
        for name, monitor in self._final.items():
            reading = monitor.step(step)
            if reading is not None and reading.verdict is Verdict.VIOLATED and not self._worse:
                self._worse = f"{name}: {reading.reason}"
        if self._worse:
            self._final = {}

    def _hear(self, step: Step) -> Reading | None:
        """Take note of a detection or a mitigation that is in time."""
        hook = step.arguments.get("hook")
        lowest = self._margin
        if step.operation == "detected":
            for name in _meant(self._undetected, hook):
                self._left(self._now - self._undetected.pop(name), self._windows[0])
                self._detected.setdefault(name, self._now)
        elif step.operation == "mitigated":
            for name in _meant(self._detected, hook):
                self._left(self._now - self._detected.pop(name), self._windows[1])
        return Reading(Verdict.HOLDS, self._margin) if self._margin < lowest else None

    def _left(self, waited: int, window: int) -> None:
        """Keep the smallest share of a window that was left."""
        self._margin = min(self._margin, 1.0 - waited / (window + 1))

    def _overdue(self) -> Reading | None:
        for waiting, window, what in (
            (self._undetected, self._windows[0], "detected"),
            (self._detected, self._windows[1], "mitigated"),
        ):
            oldest = next(iter(waiting), None)
            if oldest is not None and self._now - waiting[oldest] >= window:
                return self._break(f"the fault at {oldest} was not {what} within {window} steps")
        return None

    def _break(self, reason: str) -> Reading:
        self._broken = True
        return violated(reason)

    def end(self, end: End) -> Reading:
        for waiting, what in ((self._undetected, "detected"), (self._detected, "mitigated")):
            if waiting:
                return violated(f"the run ended and the fault at {next(iter(waiting))} was not {what}")
        if self._faulty:
            for name, monitor in self._final.items():
                reading = monitor.end(end)
                if reading.verdict is Verdict.VIOLATED:
                    return violated(f"{name}: {reading.reason}")
        return Reading(Verdict.HOLDS, self._margin)

    def state(self) -> Plain:
        if self._broken:
            return BROKEN
        waiting: list[Plain] = [
            {hook: self._now - since for hook, since in sorted(waiting.items())}
            for waiting in (self._undetected, self._detected)
        ]
        final: Plain = {name: monitor.state() for name, monitor in self._final.items()}
        return [self._faulty, self._worse, waiting, final]


def _meant(waiting: dict[str, int], hook: Plain) -> Iterable[str]:
    if hook is None:
        return list(waiting)
    return [hook] if isinstance(hook, str) and hook in waiting else []
