"""How a damaged file ended: as if it were not damaged, with an error that says what to do, or wrongly."""

from __future__ import annotations

import contextlib
import enum
import gc
import signal
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chaosagent.errors import ChaosAgentError

CPU_SECONDS_MAX, SECONDS_MAX = 5, 60
"""Of the processor, which a busy machine does not use up; and of real time, for what waits."""


class Outcome(enum.Enum):
    """How it ended.

    `SAME` and `REFUSED` are right; `SAME` of a file without checksum says that it was read. `CHANGED` is a damaged
    value that was believed, `CRASHED` another exception, `HUNG` one that did not end.
    """

    SAME = "same"
    REFUSED = "refused"
    CHANGED = "changed"
    CRASHED = "crashed"
    HUNG = "hung"


@dataclass(frozen=True, slots=True)
class Case:
    """One damaged file.

    Attributes:
        number: From which it can be made again.
        damage: What was done to it.
        use: What was done with it.
        outcome: How that ended.
        detail: The message, or what changed.
        leaked: Connections that stayed open.
        readable_by: Files that others than their owner may read.
    """

    number: int
    damage: str
    use: str
    outcome: Outcome
    detail: str = ""
    leaked: int = 0
    readable_by: tuple[str, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Whether anything is wrong with it."""
        return (
            self.outcome in {Outcome.CHANGED, Outcome.CRASHED, Outcome.HUNG}
            or self.leaked > 0
            or bool(self.readable_by)
        )


@dataclass(slots=True)
class Connections:
    """How many connections to SQLite were opened and closed."""

    opened: int = 0
    closed: int = 0
    _closed: set[int] = field(default_factory=set)


@contextlib.contextmanager
def connections_counted() -> Iterator[Connections]:
    """Count connections that are opened and closed meanwhile."""
    counts, connect = Connections(), sqlite3.connect

    class Counted(sqlite3.Connection):
        is_open = True

        def close(self) -> None:
            counts.closed += self.is_open
            self.is_open = False
            super().close()

    def counted(*arguments: Any, **terms: Any) -> sqlite3.Connection:
        connection = connect(*arguments, factory=Counted, **terms)
        counts.opened += 1
        return connection

    sqlite3.connect = counted  # type: ignore[assignment]  # put back below
    try:
        yield counts
    finally:
        sqlite3.connect = connect


class HungError(BaseException):
    """Something took too long."""


@contextlib.contextmanager
def hang_limit() -> Iterator[None]:
    """Raise `HungError` in what takes too long; for the main thread."""

    def stop(*_: object) -> None:
        raise HungError

    limits = [
        (signal.SIGPROF, signal.ITIMER_PROF, CPU_SECONDS_MAX),
        (signal.SIGALRM, signal.ITIMER_REAL, SECONDS_MAX),
    ]
    before = [signal.signal(number, stop) for number, _, _ in limits]
    for _, timer, seconds in limits:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def outcome_of(use: Callable[[], str]) -> tuple[Outcome, str]:
    """Use a damaged file.

    Args:
        use: Returns what changed, empty when nothing did.

    Returns:
        How it ended, and the message or what changed.
    """
    try:
        with hang_limit():
            changed = use()
    except HungError:
        return Outcome.HUNG, f"more than {CPU_SECONDS_MAX} s of the processor or {SECONDS_MAX} s"
    except ChaosAgentError as error:
        return Outcome.REFUSED, f"{type(error).__name__}: {error}"
    except Exception as error:  # what is counted here
        return Outcome.CRASHED, f"{type(error).__name__}: {error}"
    return (Outcome.CHANGED, changed) if changed else (Outcome.SAME, "")


def outcome_and_leaks(use: Callable[[], str]) -> tuple[Outcome, str, int]:
    """Use a damaged file as `outcome_of` does, and return how many connections to SQLite stayed open, too."""
    with connections_counted() as counts:
        outcome, detail = outcome_of(use)
        gc.collect()
    return outcome, detail, counts.opened - counts.closed
