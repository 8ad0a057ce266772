"""Runs that stand for several seeds, as they have not read theirs.

Up to the moment when something in a run asks for its seed, no seed can make a difference to it. So a run in which
nothing does is the run of every seed, and is made once. Whether a run reads its seed does not depend on the seed
either, so it does not matter which of the searches asks for a schedule first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.speculation import Speculation
from chaosagent.study.task_seed import TaskSeed


class SeedSharing:
    """Finds the run of one seed among those of others.

    Args:
        seeds: Of the study.
        known: Returns what a schedule has told with a task and seed, `None` where no run has ended.
        out: The tickets of runs that are under way. A schedule that waits for the run of another seed has its ticket.
        ahead: The runs that are made ahead, and were not asked for yet.
        may_share: Whether equal runs are equal by now: answers are not frozen for each seed, nor does real time count.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        known: Callable[[TaskSeed, Schedule], Evaluation | None],
        out: dict[tuple[TaskSeed, Schedule], int],
        ahead: Speculation,
        may_share: Callable[[], bool],
    ) -> None:
        self._seeds, self._known, self._out, self._ahead = tuple(seeds), known, out, ahead
        self._may_share = may_share
        self._waiting: dict[int, list[tuple[TaskSeed, Schedule]]] = {}

    def others(self, at: TaskSeed) -> tuple[int, ...]:
        """Return the seeds besides its own that a run may stand for."""
        return tuple(seed for seed in self._seeds if seed != at.seed) if self._may_share() else ()

    def find(self, at: TaskSeed, schedule: Schedule) -> Evaluation | None:
        """Return the run of another seed as one of this; where that is still under way, wait for it (`out`)."""
        for other in self._shared_with(at, schedule):
            told = self._known(other, schedule)
            if told is not None and not told.is_taken_over(other.seed):
                return told.with_seed(at.seed)
            ticket = self._out.get((other, schedule))
            if ticket is not None:
                self._out[at, schedule] = ticket
                self._waiting.setdefault(ticket, []).append((at, schedule))
                return None
        return None

    def is_begun(self, at: TaskSeed, schedule: Schedule) -> bool:
        """Whether a run of another seed that may be one of this has ended, is under way, or is made ahead."""
        for other in self._shared_with(at, schedule):
            told = self._known(other, schedule)
            if told is not None and not told.is_taken_over(other.seed):
                return told.with_seed(at.seed) is not None
            if (other, schedule) in self._out or (other, schedule) in self._ahead:
                return True
        return False

    def _shared_with(self, at: TaskSeed, schedule: Schedule) -> Iterator[TaskSeed]:
        """Yield the same task with the other seeds, if the run without injections reads no seed.

        By that run the others are judged.
        """
        others = self.others(at)
        undisturbed = self._known(at, EMPTY) if others and schedule != EMPTY else None
        if schedule == EMPTY or (undisturbed is not None and undisturbed.by_seed):
            yield from map(at.with_seed, others)

    def take_waiting(self, ticket: int) -> list[tuple[TaskSeed, Schedule]]:
        """Return what has waited for a run that has ended, and forget that it did."""
        waiting = self._waiting.pop(ticket, [])
        for key in waiting:
            del self._out[key]
        return waiting

    def clear(self) -> None:
        """Wait for nothing any more."""
        self._waiting.clear()
