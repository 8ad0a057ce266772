"""The limit of real time of a study: when it stops searching, and an alarm for what does not end by itself."""

from __future__ import annotations

import math
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from chaosagent.clock import monotonic, seconds_until
from chaosagent.study.plan import Plan

RESERVE_SHARE = 0.3
RESERVE_SECONDS, RESERVE_SECONDS_EACH = 6.0, 1.5
"""Real time that is kept for finishing, and for each task and seed of it; at most that share of what there is."""
GRACE_SECONDS = 0.5
"""How long after its end the search is interrupted, and how long any interrupt leaves what runs to end by itself."""
FINISH_SECONDS, SHOW_SECONDS = 0.5, 2.5
"""How long after the limit, or an interrupt, no run is minimised or repeated any more, and how long until no violation
is shown."""
AGAIN_SECONDS = 1.0
"""How long after an alarm it rings again, for a target that catches what ends it."""
ALARM_SECONDS_MAX = 1e8


class TimeIsUp(KeyboardInterrupt):
    """Goes the way of Ctrl-C, which event loops and targets let pass."""


def deadline_of(plan: Plan, started: float) -> Deadline:
    """Return when a study ends.

    Args:
        plan: Of the study.
        started: When it began, as `monotonic` counts; earlier by what earlier sessions took.
    """
    limits = plan.limits
    whole = math.inf if limits.seconds_max is None else started + limits.seconds_max
    session = math.inf if limits.until is None else monotonic() + seconds_until(limits.until)
    return Deadline(min(whole, session), len(plan.tasks) * len(plan.seeds))


class Deadline:
    """When a study with a limit of time ends what it does.

    It stops searching somewhat earlier, and what is left is for minimising and repeating. What has not ended by then is
    interrupted: the run in flight first, then the finishing, at last the showing of what was found.

    Args:
        moment: When the study is to be over, as `monotonic` counts; infinite for no limit.
        places: How many tasks and seeds there are to be finished.

    Attributes:
        search_end: From then on nothing new is searched.
    """

    def __init__(self, moment: float, places: int) -> None:
        left = max(0.0, moment - monotonic())
        reserve = min(RESERVE_SHARE * left, RESERVE_SECONDS + RESERVE_SECONDS_EACH * places)
        self.search_end = moment if math.isinf(moment) else moment - reserve
        self._moment, self._at, self._is_heard = moment, math.inf, False

    @property
    def near(self) -> bool:
        """Whether the time for searching is over."""
        return monotonic() > self.search_end

    def move_to_now(self) -> None:
        """End the study now, as it was interrupted; what was found is shown as after a limit of time."""
        now = monotonic()
        self._moment, self.search_end = min(self._moment, now), min(self.search_end, now)

    @contextmanager
    def alarmed(self) -> Iterator[None]:
        """Let alarms ring in this context, in the main thread of systems with timers; elsewhere none ever rings."""
        on_main = threading.current_thread() is threading.main_thread()
        if self._is_heard or math.isinf(self._moment) or not on_main or not hasattr(signal, "setitimer"):
            yield
            return
        handler, timer = signal.signal(signal.SIGALRM, self._ring), signal.getitimer(signal.ITIMER_REAL)
        self._is_heard = True
        try:
            with _silent_alarms():
                yield
        finally:
            self._is_heard, self._at = False, math.inf
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)

    def interrupt_search(self) -> None:
        """Have `TimeIsUp` raised when the search should have stopped, and has not."""
        self._interrupt_at(self.search_end + GRACE_SECONDS)

    def interrupt_finishing(self) -> None:
        """Have it raised when what was found should have been minimised and repeated."""
        self._interrupt_at(self._moment + FINISH_SECONDS)

    @contextmanager
    def interrupted_showing(self) -> Iterator[None]:
        """Have it raised in this context when what was found should have been shown; at once when that is over."""
        if monotonic() > self._moment + SHOW_SECONDS:
            raise TimeIsUp
        self._interrupt_at(self._moment + SHOW_SECONDS)
        try:
            yield
        finally:
            self.silence()

    def silence(self) -> None:
        """Have nothing raised."""
        self._at = math.inf
        if self._is_heard:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _interrupt_at(self, moment: float) -> None:
        self._at = moment
        if self._is_heard:
            left = min(max(GRACE_SECONDS, moment - monotonic()), ALARM_SECONDS_MAX)
            signal.setitimer(signal.ITIMER_REAL, left, AGAIN_SECONDS)

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if monotonic() >= self._at:
            warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)  # what is dropped here
            raise TimeIsUp


@contextmanager
def _silent_alarms() -> Iterator[None]:
    """Print nothing of an alarm that rings in a finaliser, which swallows it, nor of the coroutines that it drops."""
    hook = sys.unraisablehook

    def silent(unraisable: sys.UnraisableHookArgs, /) -> None:
        if unraisable.exc_type is not TimeIsUp:
            hook(unraisable)

    sys.unraisablehook = silent
    try:
        with warnings.catch_warnings():  # the filter of an alarm lasts no longer than this
            yield
    finally:
        sys.unraisablehook = hook
