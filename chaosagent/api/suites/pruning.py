"""Which records a regression suite no longer needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from chaosagent.api.replays.replayed import ReplayedRecord, Standing
from chaosagent.api.suites.suite import check_one_suite, covered_by
from chaosagent.errors import UsageError
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.review import review_path

UNJUDGED = frozenset({ReplayOutcome.REFUSED, ReplayOutcome.ERROR})
"""Outcomes that say nothing of a record; it stays."""


class Removed(NamedTuple):
    """A record that is taken out of a suite, and why."""

    path: Path
    reason: str


def superseded_in(reruns: Sequence[ReplayedRecord]) -> list[Removed]:
    """Return the records of a suite that another one covers: no dearer, with the same expectation and the same outcome.

    Args:
        reruns: Of today's target; one that could not be judged is covered by none.

    Raises:
        UsageError: The records are of several targets.
    """
    read = [(one, one.record) for one in reruns if one.record is not None]
    check_one_suite((one.path, record) for one, record in read)
    covered, _ = covered_by([record for _, record in read], {})
    removed: list[Removed] = []
    kept: list[tuple[ReplayedRecord, ReplayRecord]] = []
    for one, record in sorted(read, key=lambda pair: (pair[1].cost, str(pair[0].path))):
        alike = [(other.path, known) for other, known in kept if _standing_of(other) == _standing_of(one)]
        twin = next((other for other, known in alike if known.id == record.id), None)
        better = next(
            (other for other, known in alike if not record.is_nominal and covered[record.id] <= covered[known.id]),
            None,
        )
        if one.replay.outcome in UNJUDGED:
            continue
        if twin is not None:
            removed.append(Removed(one.path, f"the same run as {twin.name}"))
        elif better is not None:
            removed.append(Removed(one.path, f"{better.name} is no dearer and covers all that it covers"))
        else:
            kept.append((one, record))
    return removed


def _standing_of(one: ReplayedRecord) -> tuple[object, ...]:
    """Return what has to be the same of two records for one of them to be superfluous."""
    return one.expect, one.replay.outcome, one.replay.failure


def without_effect(reruns: Iterable[ReplayedRecord]) -> list[Removed]:
    """Return the records that test nothing any more: their faults land at no call of today's target, or elsewhere."""
    return [
        Removed(one.path, f"it no longer lands: {one.replay.detail}")
        for one in reruns
        if one.standing is Standing.EMPTY
    ]


def remove_records(removed: Iterable[Removed]) -> None:
    """Delete records, and then what was decided about them.

    Raises:
        UsageError: A file cannot be deleted.
    """
    for path, _ in removed:
        try:
            path.unlink()
            review_path(path).unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"{path}: cannot be deleted: {error.strerror}.") from error
