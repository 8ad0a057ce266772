"""Ending a run of this very process that takes too long by real time.

Searches have worker processes for it; a replay makes its runs where it is, and a target that has come to loop for ever
would hold up the pipeline that replays its records. Nothing is judged by it: the run is an error, with its reason.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from chaosagent.errors import TargetError
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Target
from chaosagent.vocabulary import ClockKind

AGAIN_SECONDS = 5.0
"""How long after the limit it is tried again, for a target that catches what ends it."""


DELAY_SECONDS_MAX = 1e8
"""More than timers of every system take is no limit."""


class RunTooLongError(TargetError):
    """A run took longer than its limit of real time, and was ended."""


class _EndRun(KeyboardInterrupt):
    """Goes the way of Ctrl-C, which event loops and targets let pass."""


@contextmanager
def limited_real_time(target: Target, limits: RunLimits) -> Iterator[None]:
    """End a run that is made in this context when it takes too long.

    Without effect outside of the main thread, on systems without interval timers, without a limit, and beside a shorter
    timer that somebody else has set.

    Args:
        target: One in real time ends its runs itself; it is ended when it has not at twice the limit.
        limits: Of the run.

    Raises:
        RunTooLongError: It has been ended.
    """
    seconds_max = limits.wall_seconds_max
    delay = 2 * seconds_max if target.clock is ClockKind.WALL else seconds_max
    on_main = threading.current_thread() is threading.main_thread()
    if not on_main or not hasattr(signal, "setitimer") or not delay < DELAY_SECONDS_MAX or _other_timer() < delay:
        yield
        return
    handler = signal.signal(signal.SIGALRM, _end_run)
    timer = signal.setitimer(signal.ITIMER_REAL, delay, AGAIN_SECONDS)
    try:
        yield
    except _EndRun:
        raise RunTooLongError(
            f"a run took longer than {seconds_max:g} s of real time (run.wall_seconds), and was ended. Where it would "
            "never end, mend the target; where it is only slow, search again for records with a higher limit."
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def _other_timer() -> float:
    """Return the seconds until somebody else's timer ends, infinite where there is none."""
    return signal.getitimer(signal.ITIMER_REAL)[0] or math.inf


def _end_run(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _EndRun
