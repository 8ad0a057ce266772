"""Which records a regression suite no longer needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from chaosagent.api.replays.replayed import ReplayedRecord, Standing
from chaosagent.api.suites.suite import check_one_suite, covered_by
from chaosagent.errors import UsageError
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.review import read_review, review_path
from chaosagent.replays.store import read_record


class Removed(NamedTuple):
    """A record that is taken out of a suite, and why."""

    path: Path
    reason: str


def superseded_in(paths: Sequence[Path]) -> list[Removed]:
    """Return the records of a suite that another one covers, which is no dearer and of which the same is expected.

    Raises:
        RecordError: A record, or what was decided about it, cannot be read.
        UsageError: The records are of several targets.
    """
    read = [(path, read_record(path)) for path in paths]
    check_one_suite(read)
    covered, _ = covered_by([record for _, record in read], {})
    expected = {path: read_review(path, record).expect for path, record in read}
    removed: list[Removed] = []
    kept: list[tuple[Path, ReplayRecord]] = []
    for path, record in sorted(read, key=lambda one: (one[1].cost, str(one[0]))):
        twin = next((other for other, known in kept if known.id == record.id), None)
        better = next(
            (
                other
                for other, known in kept
                if not record.is_nominal
                and covered[record.id] <= covered[known.id]
                and expected[other] is expected[path]
            ),
            None,
        )
        if twin is not None:
            removed.append(Removed(path, f"the same run as {twin.name}"))
        elif better is not None:
            removed.append(Removed(path, f"{better.name} is no dearer and covers all that it covers"))
        else:
            kept.append((path, record))
    return removed


def without_effect(reruns: Iterable[ReplayedRecord]) -> list[Removed]:
    """Return the records that test nothing any more: their faults land at no call of today's target, or elsewhere."""
    return [
        Removed(one.path, f"it no longer lands: {one.replay.detail}")
        for one in reruns
        if one.standing is Standing.EMPTY
    ]


def remove_records(removed: Iterable[Removed]) -> None:
    """Delete records, and what was decided about them.

    Raises:
        UsageError: A file cannot be deleted.
    """
    for path, _ in removed:
        try:
            review_path(path).unlink(missing_ok=True)
            path.unlink()
        except OSError as error:
            raise UsageError(f"{path}: cannot be deleted: {error.strerror}.") from error
