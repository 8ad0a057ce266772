"""Tells how far a study is while it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from chaosagent.clock import monotonic
from chaosagent.study.levels import Levels
from chaosagent.study.loop.search import Search
from chaosagent.study.result import OpenViolation, StoredCounts, StudyProgress, TaskTally

LEAST_SECONDS = 0.05
SHARE_MAX = 0.02
"""Largest share of the time that goes into telling how far a study is, however many searches it has."""
RECENT_SECONDS = 60.0
STEP_SECONDS = 0.5


class Work(NamedTuple):
    """What there is to tell of.

    Attributes:
        tallies: Of all tasks.
        errors: Runs that ended as errors.
        active: The searches that go on.
        broken: Those whose results are not final, and that know of a violation.
        costs: Of the counterexamples whose searches are over.
        nominals_left: Tasks and seeds that have had no run without injections yet.
    """

    tallies: Collection[TaskTally]
    errors: int
    active: Sequence[Search]
    broken: Sequence[Search]
    costs: Sequence[float]
    nominals_left: int


class Reporter:
    """Tells it, but not after every trial: that would cost more than some trials.

    What is stored of earlier sessions counts, though the searches may not have come to it again.

    Args:
        tell: Called with how far the study is; with the same object each time.
        stored: What is stored of earlier sessions.
        started: When the study began, as if all sessions had followed one another; real seconds.
    """

    def __init__(self, tell: Callable[[StudyProgress], object], stored: StoredCounts, started: float) -> None:
        self.progress = StudyProgress()
        self._tell, self._stored, self._started = tell, stored, started
        self._next, self._rate = float("-inf"), _RecentRate()

    @property
    def is_due(self) -> bool:
        """Whether it is time to tell again."""
        return monotonic() >= self._next

    def report(self, work: Work, levels: Levels, *, doing: str = "") -> None:
        """Tell how far the study is.

        Args:
            work: What is done and what is left.
            levels: The same by cost.
            doing: What the study does, for people, where it does not search.
        """
        begun, progress, stored = monotonic(), self.progress, self._stored
        told = sum(tally.trials for tally in work.tallies)
        again = f"going over the trials of earlier sessions: {told:,} of {stored.trials:,}"
        progress.doing = doing or (again if told < stored.trials else "")
        progress.searches_over = progress.searches - len(work.active)
        progress.executions = max(stored.executions, sum(tally.executions for tally in work.tallies))
        progress.taken_over = sum(tally.taken_over for tally in work.tallies)
        progress.errors, progress.trials = max(stored.errors, work.errors), max(stored.trials, told)
        progress.seconds, progress.rate = begun - self._started, self._rate.of(begun, progress.trials)
        progress.violations = tuple(
            OpenViolation(one.at.task_id, one.at.seed, one.contract.id, one.found.best_cost) for one in work.broken
        )
        progress.found = len(work.costs) + sum(one.found.count for one in work.broken)
        progress.best_cost = min([*work.costs, *(one.cost for one in progress.violations)], default=None)
        bounds = [search.lower_bound for search in work.active]
        progress.levels, progress.nominals_left = levels.told(bounds, progress.searches), work.nominals_left
        if work.active:
            progress.lower_bound, at, contract = min(
                (bound, one.at, one.contract.id) for bound, one in zip(bounds, work.active, strict=True)
            )
            progress.current = f"{at.task_id}, seed {at.seed}: {contract}"
        self._tell(progress)
        now = monotonic()
        self._next = now + max(LEAST_SECONDS, (now - begun) / SHARE_MAX)

    def report_repeats(self, made: int, total: int) -> None:
        """Tell how many faulty runs were repeated in processes of their own, and of how many."""
        self.progress.repeats = (made, total) if made < total else None
        self.report_time()

    def report_time(self) -> None:
        """Tell how much time has passed; the counts are those of the last report."""
        self.progress.seconds = monotonic() - self._started
        self._tell(self.progress)


class _RecentRate:
    """How fast something grows that is counted, over the last minute of this session."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, now: float, count: int) -> float:
        seen = self._seen
        if not seen or now - seen[-1][0] >= STEP_SECONDS:
            seen.append((now, count))
        while now - seen[0][0] > RECENT_SECONDS:
            seen.popleft()
        begun, before = seen[0]
        return (count - before) / (now - begun) if now - begun >= STEP_SECONDS else 0.0
