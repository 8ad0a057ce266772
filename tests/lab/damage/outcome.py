"""How a damaged file ended: as if it were not damaged, with an error that says what to do, or wrongly."""

from __future__ import annotations

import contextlib
import enum
import gc
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chaosagent.errors import ChaosAgentError


class Outcome(enum.Enum):
    """`SAME` and `REFUSED` are right; `CHANGED` is a damaged value that was believed, `CRASHED` another exception."""

    SAME = "same"
    REFUSED = "refused"
    CHANGED = "changed"
    CRASHED = "crashed"


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
        return self.outcome in {Outcome.CHANGED, Outcome.CRASHED} or self.leaked > 0 or bool(self.readable_by)


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


def outcome_of(use: Callable[[], str]) -> tuple[Outcome, str, int]:
    """Use a damaged file.

    Args:
        use: Returns what changed, empty when nothing did.

    Returns:
        How it ended, the message or what changed, and how many connections stayed open.
    """
    with connections_counted() as counts:
        try:
            changed = use()
            outcome, detail = (Outcome.CHANGED, changed) if changed else (Outcome.SAME, "")
        except ChaosAgentError as error:
            outcome, detail = Outcome.REFUSED, f"{type(error).__name__}: {error}"
        except Exception as error:  # what is counted here
            outcome, detail = Outcome.CRASHED, f"{type(error).__name__}: {error}"
        gc.collect()
    return outcome, detail, counts.opened - counts.closed
