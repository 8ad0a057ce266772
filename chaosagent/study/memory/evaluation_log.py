"""What the runs of one task and seed told, by schedule, and sets of their schedules that take next to no memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.memory.spill import Spill

READ_MAX = 256
"""How many runs that were read from disk are remembered."""


class EvaluationLog:
    """Runs under their schedules, each with a number from 0 in the order of adding.

    The newest are in memory, and the run without injections; the others are on disk, where there is a disk to use, and
    are read when somebody asks for them. What is only for people or for the run of the hour (`Evaluation`: "neither
    compared nor stored") does not come back from there.

    Args:
        spill: Where those go for which there is no room; `None` keeps all of them in memory.
    """

    def __init__(self, spill: Spill | None = None) -> None:
        self._spill, self._id = spill, 0  # the id is that of the spill, which divides its room between logs with runs
        self._numbers: dict[Schedule, int] = {}
        self._runs: dict[int, Evaluation] = {}
        self._read: dict[int, Evaluation] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, schedule: Schedule) -> bool:
        return self.number(schedule) is not None

    def __iter__(self) -> Iterator[Evaluation]:
        return map(self.at, range(self._count))

    @property
    def forgets(self) -> bool:
        """Whether runs leave the memory, so that who keeps them gains by asking for them again."""
        return self._spill is not None

    def add(self, schedule: Schedule, evaluation: Evaluation) -> None:
        """Add the run of a schedule, which has none yet."""
        self._numbers[schedule], self._runs[self._count] = self._count, evaluation
        self._count += 1
        if self._spill is None:
            return
        self._id = self._id or self._spill.new_log()
        if len(self._runs) >= 2 * self._spill.room:
            self._make_room(self._spill)

    def number(self, schedule: Schedule) -> int | None:
        """Return the number of the run of a schedule, `None` when there is none."""
        number = self._numbers.get(schedule)
        if number is None and self._id and self._spill is not None:
            return self._spill.number(self._id, schedule)
        return number

    def get(self, schedule: Schedule) -> Evaluation | None:
        """Return the run of a schedule, `None` when there is none."""
        number = self.number(schedule)
        return None if number is None else self.at(number)

    def at(self, number: int) -> Evaluation:
        """Return the run with a number."""
        run = self._runs.get(number) or self._read.get(number)
        if run is None:
            assert self._spill is not None
            if len(self._read) >= READ_MAX:
                self._read.clear()
            run = self._read[number] = self._spill.get(self._id, number)
        return run

    def forget(self) -> None:
        """Drop all runs, for good: nothing is added any more."""
        self._numbers.clear()
        self._runs.clear()
        self._read.clear()
        self._count = 0
        if self._id and self._spill is not None:
            self._spill.forget(self._id)
            self._id = 0

    def _make_room(self, spill: Spill) -> None:
        """Put the older half of what may leave the memory on disk."""
        leaving = [
            (number, schedule)
            for schedule, number in islice(self._numbers.items(), spill.room)
            if schedule != EMPTY and self._runs[number].schedule == schedule
        ]
        spill.put(self._id, [(number, self._runs[number]) for number, _ in leaving])
        for number, schedule in leaving:  # only now: an interrupt must not lose a run
            del self._numbers[schedule], self._runs[number]


class ScheduleSet:
    """A set of schedules, which takes one bit for each of those that the log has.

    Args:
        log: That most of the schedules get into, sooner or later; `None` where there is none.
    """

    def __init__(self, log: EvaluationLog | None = None) -> None:
        self._log = log if log is not None and log.forgets else None
        self._others: set[Schedule] = set()
        self._bits = bytearray()

    def __contains__(self, schedule: Schedule) -> bool:
        if schedule in self._others:
            return True
        number = None if self._log is None else self._log.number(schedule)
        return number is not None and self.holds(number)

    def holds(self, number: int) -> bool:
        """Whether a schedule is in it, by the number of its run in the log."""
        return number >> 3 < len(self._bits) and bool(self._bits[number >> 3] & 1 << (number & 7))

    def add(self, schedule: Schedule) -> None:
        """Take a schedule; call it again when its run is in the log."""
        number = None if self._log is None else self._log.number(schedule)
        if number is None:
            self._others.add(schedule)
            return
        self._others.discard(schedule)
        self.add_number(number)

    def add_number(self, number: int) -> None:
        """Take a schedule, by the number of its run in the log."""
        if number >> 3 >= len(self._bits):
            self._bits.extend(bytes((number >> 3) + 1 - len(self._bits)))
        self._bits[number >> 3] |= 1 << (number & 7)


class ToldRuns:
    """The runs that a searcher has received; it keeps only those that are not in the log.

    Args:
        log: Of all runs of the task and seed; `None` where there is none.
    """

    def __init__(self, log: EvaluationLog | None = None) -> None:
        self._log = log if log is not None and log.forgets else None
        self._others: dict[Schedule, Evaluation] = {}
        self._told, self._order = ScheduleSet(log), array("I")

    def __contains__(self, schedule: Schedule) -> bool:
        return schedule in self._others or (self._log is not None and schedule in self._told)

    def __getitem__(self, schedule: Schedule) -> Evaluation:
        known = self.get(schedule)
        if known is None:
            raise KeyError(schedule)
        return known

    def __len__(self) -> int:
        return len(self._others) + len(self._order)

    def __iter__(self) -> Iterator[Evaluation]:
        """Yield the runs: first those that are not in the log, then the others in the order of adding."""
        yield from self._others.values()
        if self._log is not None:
            yield from map(self._log.at, self._order)

    def get(self, schedule: Schedule) -> Evaluation | None:
        """Return the run of a schedule, `None` when it was not added."""
        known = self._others.get(schedule)
        if known is not None or self._log is None:
            return known
        number = self._log.number(schedule)
        return None if number is None or not self._told.holds(number) else self._log.at(number)

    def add(self, evaluation: Evaluation) -> None:
        """Add the run of a schedule, which has none here yet."""
        schedule = evaluation.schedule
        number = None if self._log is None else self._log.number(schedule)
        if number is None:
            self._others[schedule] = evaluation
        elif not self._told.holds(number):
            self._told.add_number(number)
            self._order.append(number)


class EarlierRuns:
    """The runs of an earlier session, until somebody asks for them again.

    Args:
        spill: Where those go for which there is no room in memory; `None` keeps all of them there.
    """

    def __init__(self, spill: Spill | None = None) -> None:
        self._log = EvaluationLog(spill)
        self._taken, self._left = ScheduleSet(self._log), 0

    def __contains__(self, schedule: Schedule) -> bool:
        return self._left > 0 and schedule in self._log and schedule not in self._taken

    def __iter__(self) -> Iterator[Evaluation]:
        return (run for run in self._log if run.schedule not in self._taken) if self._left else iter(())

    def __len__(self) -> int:
        return self._left

    def add(self, evaluation: Evaluation) -> None:
        """Add a run, of whose schedule there was none."""
        self._log.add(evaluation.schedule, evaluation)
        self._left += 1

    def get(self, schedule: Schedule) -> Evaluation | None:
        """Return the run of a schedule, `None` when there is none."""
        return self._log.get(schedule) if schedule in self else None

    def take(self, schedule: Schedule) -> Evaluation | None:
        """Return the run of a schedule and drop it, `None` when there is none."""
        run = self.get(schedule)
        if run is None:
            return None
        self._taken.add(schedule)
        self._left -= 1
        if not self._left:
            self._log.forget()
        return run
