"""`progress`: the run gets somewhere.

Source: failure class F1, Eq. 2: a potential Φ ≥ 0 (what is unresolved) that does not decrease anywhere in a window of
w steps, in a run that goes on, is coordination collapse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from chaosagent.canonical import Plain, digest_of
from chaosagent.contracts.contract import End, Monitor, Reading, Setting, violated
from chaosagent.contracts.settings import BROKEN, ContractSettings, check_whole
from chaosagent.errors import UsageError
from chaosagent.trace.step import Step, StepKind
from chaosagent.vocabulary import Verdict

Potential: TypeAlias = Callable[[Step], float | None]
"""The potential after a step, 0 or more, or `None` where it is unchanged. At 0 nothing is left to do."""

SEEN_MAX = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(ContractSettings):
    """A window of steps without progress is a violation.

    Without a potential of its own it looks at what any target shows: a step is progress when it commits an effect or
    brings an answer that this agent was not given to this request before (of the last 512). Failures and repeated
    answers are none; notes count neither way.

    The margin is the share of the window that was left when the run came closest.

    Attributes:
        window: The w of Eq. 2: steps without progress that are a violation, 2 or more.
        potential: Φ; it must not keep state of its own.
    """

    id: str = "progress"
    window: int = 12
    potential: Potential | None = None

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        check_whole(self.id, "window", self.window, least=2)
        if self.potential is not None and not callable(self.potential):
            raise UsageError(f"{self.id}(potential={self.potential!r}): potential must be a function of a step.")

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return _ProgressMonitor(self.window, _Novelty() if self.potential is None else _Descent(self.potential))


class _Novelty:
    """Progress is what was not there before."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str, bytes, bytes], None] = {}

    def __call__(self, step: Step) -> bool | None:
        if step.kind is StepKind.NOTE:
            return None
        if step.has_failed or step.kind is not StepKind.CALL:
            return bool(step.effects)
        key = (step.agent, step.interface, step.operation, step.request, step.response)
        if key in self._seen:
            return bool(step.effects)
        self._seen[key] = None
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        return True

    def state(self) -> Plain:
        return digest_of([*self._seen])


class _Descent:
    """Progress is a smaller potential."""

    __slots__ = ("_now", "_potential")

    def __init__(self, potential: Potential) -> None:
        self._potential = potential
        self._now: float | None = None

    def __call__(self, step: Step) -> bool | None:
        then, found = self._now, self._potential(step)
        if found is not None:
            self._now = found
        if self._now is None or self._now <= 0.0:
            return True
        return then is not None and self._now < then

    def state(self) -> Plain:
        return self._now


class _ProgressMonitor:
    __slots__ = ("_longest", "_progresses", "_stalled", "_window")

    def __init__(self, window: int, progresses: _Novelty | _Descent) -> None:
        self._window, self._progresses = window, progresses
        self._stalled = self._longest = 0

    def step(self, step: Step) -> Reading | None:
        progress = self._progresses(step)
        if progress is None:
            return None
        if progress:
            self._stalled = 0
            return None
        self._stalled += 1
        if self._stalled <= self._longest:
            return None
        self._longest = self._stalled
        if self._stalled >= self._window:
            return violated(f"no progress in {self._stalled} steps, the last {step!r}")
        return Reading(Verdict.HOLDS, 1.0 - self._longest / self._window)

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        return Reading(Verdict.HOLDS, 1.0 - self._longest / self._window)

    def state(self) -> Plain:
        return BROKEN if self._longest >= self._window else [self._stalled, self._progresses.state()]
