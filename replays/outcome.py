"""What came of a replay."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from chaosagent.replays.changes import Change


class ReplayOutcome(enum.Enum):
    """What came of a replay, in one word."""

    REPRODUCED = "REPRODUCED"
    DIVERGED = "DIVERGED"
    VIOLATED = "VIOLATED"
    HELD = "HELD"
    CHANGED = "CHANGED"
    MOVED = "MOVED"
    NOT_LANDED = "NOT_LANDED"
    REFUSED = "REFUSED"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a replay.

    Attributes:
        outcome: In one word.
        mode: `"exact"` or `"schedule"`.
        step: Where it differs or is violated, if it does.
        detail: In one sentence.
        notes: What else is worth knowing, a sentence each.
        changes: What somebody has to review; only of `CHANGED`.
    """

    outcome: ReplayOutcome
    mode: str
    step: int | None
    detail: str
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def violation_place(step: int | None, step_count: int) -> str:
    """Say where in a trace a contract was violated."""
    return "at the end" if step is None or step >= step_count else f"at step {step}"
