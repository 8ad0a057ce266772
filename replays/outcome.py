"""What came of a replay."""

from __future__ import annotations

import enum
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from chaosagent.replays.changes import Change
from chaosagent.replays.record import ReplayRecord


class RunsMax(NamedTuple):
    """How many runs a replay may make.

    Attributes:
        draws: Of one schedule, where a stochastic target asks what the record cannot answer.
        placements: To try the faults at every call that may be the recorded one.
        neighbours: Of schedules near that of a record which holds; 0 runs none.
    """

    draws: int = 20
    placements: int = 1_000
    neighbours: int = 0


NEIGHBOURS = 200
"""How many neighbours are run where somebody asks for them and names no number."""
DEFAULT_RUNS_MAX = RunsMax()


class ReplayOutcome(enum.Enum):
    """What came of a replay, in one word."""

    REPRODUCED = "REPRODUCED"
    DIVERGED = "DIVERGED"
    VIOLATED = "VIOLATED"
    HELD = "HELD"
    DODGED = "DODGED"
    CHANGED = "CHANGED"
    MOVED = "MOVED"
    NOT_LANDED = "NOT_LANDED"
    REFUSED = "REFUSED"
    ERROR = "ERROR"


class Failure(enum.Enum):
    """What breaks in a replay.

    Attributes:
        OWN: The contract of the record, under its faults at their own calls, or a crash there that was reviewed; of a
            run without faults, any contract.
        OTHER: Something else: without the faults, at other calls, or another contract.
    """

    OWN = "its own"
    OTHER = "another"


class Neighbour(NamedTuple):
    """A schedule near that of a record which holds, and under which the contract is violated.

    Attributes:
        kind: What is other than in the record, in a few words.
        record: Its own record, which can be stored and replayed.
    """

    kind: str
    record: ReplayRecord


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a replay.

    Attributes:
        outcome: In one word.
        mode: `"exact"` or `"schedule"`.
        step: Where it differs or is violated, if it does.
        detail: In one sentence.
        notes: What else is worth knowing, a sentence each.
        changes: What somebody has to review; of `CHANGED`, and of `VIOLATED` where other contracts break, too. Of
            `HELD` and `DODGED` the contracts that break in the run that holds, and that the record's run kept.
        neighbour: What breaks beside the record; only of `DODGED`.
        failure: What breaks, `None` where nothing does; only of a schedule.
        share_max: Of `HELD` where answers come by chance: up to which share of runs may break the contract all the
            same, at 95 % confidence; 0 where the record has the answers.
    """

    outcome: ReplayOutcome
    mode: str
    step: int | None
    detail: str
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    neighbour: Neighbour | None = None
    failure: Failure | None = None
    share_max: float = 0.0


def reviewed(found: Replay, changes: Iterable[Change], notes: Iterable[str], accepted: Container[str]) -> Replay:
    """Return an outcome, which is `CHANGED` as long as there is a change that nobody has reviewed.

    Args:
        found: The outcome but for changes.
        changes: What differs between the record and today's target.
        notes: What else is worth knowing.
        accepted: Digests of changes that somebody has reviewed.
    """
    listed = list(changes)
    left = tuple(change for change in listed if change.digest not in accepted)
    seen = [f"reviewed: {change.text}" for change in listed if change not in left]
    found = replace(found, notes=(*found.notes, *seen, *notes))
    if not left:
        return found
    texts = [change.text for change in left]
    found = replace(found, notes=tuple(note for note in found.notes if note not in texts))
    detail = f"{'; '.join(texts)}. If that is right, `replay --accept` makes it {found.outcome.value}: {found.detail}"
    return replace(found, outcome=ReplayOutcome.CHANGED, detail=detail, changes=left)


def violation_place(step: int | None, step_count: int) -> str:
    """Say where in a trace a contract was violated."""
    return "at the end" if step is None or step >= step_count else f"at step {step}"
