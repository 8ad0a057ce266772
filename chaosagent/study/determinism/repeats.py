"""Repeats at the end of a task's searches: what faults made of it is run again, and watched for reads of the clock.

During a search about one run in 64 is repeated. That misses code behind a fault that decides by the clock now and then.
So at the end one run of each kind of fault is repeated and watched, and where the target's code reads the real time or
draws random numbers, those runs are repeated many times more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import cycle, islice
from operator import attrgetter
from typing import TypeGuard

from chaosagent.faults.chance_read import Chance, ChanceRead
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import Ending

WATCHED_MAX = 64
WATCHED_MIN = 8
WATCHED_SHARE = 32
"""One run of each kind of fault is watched, up to `WATCHED_MAX` of a task and seed. There are further ones, at other
hooks, up to `WATCHED_MIN` and one of so many runs in all."""
READING_REPEATED = 32
"""So many repeats of runs that read the clock are to be equal: a branch that one in ten runs takes shows in 97 %."""
PLACES_SHOWN = 2
SAMPLE = 4_096
"""Of more runs than this a sample is looked at, so that they need not all be in memory."""


class Repeats:
    """Makes such repeats.

    Args:
        evaluator: Of the study.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._kinds: dict[str, set[object]] = {}  # kinds of faults by task whose runs were watched

    def repeat_nominal(self, at: TaskSeed) -> None:
        """Run without injections again what was searched: what faulty runs have left behind shows in it."""
        self._evaluator.repeat(at, EMPTY, watched=True)

    def repeat_faulty(self, at: TaskSeed, found: Sequence[Schedule], *, hurried: bool) -> None:
        """Repeat one run of each kind of fault, and more where the clock is read; ends when all have.

        Args:
            at: Task and seed.
            found: Schedules of which something is claimed; these come first.
            hurried: The study has no time left: only these are repeated, and no more than it has executed.
        """
        evaluator = self._evaluator
        known = faulty_runs(evaluator, at, found)
        before = set(evaluator.reads.get(at, ()))
        for schedule in () if self._diverged(at) else self._worth_watching(at, known, found, hurried=hurried):
            if schedule not in before:
                evaluator.repeat(at, schedule, watched=True)
        self.drain(at)
        reading = self._reading(at, known, found)
        count = min(READING_REPEATED, len(known)) if hurried else READING_REPEATED
        if reading and not self._diverged(at):
            for schedule in islice(cycle(reading), count):
                evaluator.repeat(at, schedule)
        self.drain(at)

    def told_of(self, task_id: str) -> str:
        """Say what the code of a task reads, where, and how many repeats of such runs were equal; empty if nothing."""
        reads: dict[ChanceRead, None] = {}
        equal = 0
        for at, by_schedule in sorted(self._evaluator.reads.items()):
            for schedule, found in by_schedule.items() if at.task_id == task_id else ():
                own = _own(found)
                reads.update(dict.fromkeys(own))
                equal += self._evaluator.equal[at, schedule] if own else 0
        if not reads:
            return ""
        return f"the target asks for {describe_reads(list(reads))}, and {equal} repeats of runs that do were equal"

    def _diverged(self, at: TaskSeed) -> bool:
        return self._evaluator.diverged_in(at.task_id)

    def drain(self, at: TaskSeed) -> None:
        """Wait for all repeats of a task that are out."""
        while self._evaluator.repeats_out(at.task_id):
            self._evaluator.wait(at)

    def _worth_watching(
        self, at: TaskSeed, known: Sequence[Evaluation], found: Sequence[Schedule], *, hurried: bool
    ) -> list[Schedule]:
        """Return those that something is claimed of, the smallest of each kind of fault, and large ones with others."""
        further = min(WATCHED_MAX, WATCHED_MIN + len(known) // WATCHED_SHARE)
        chosen = dict.fromkeys([schedule for schedule in found if schedule != EMPTY][:WATCHED_MAX])
        if hurried:
            return list(chosen)
        covered = self._kinds.setdefault(at.task_id, set())
        for told_by, evaluations, most in ((kinds_of, known, WATCHED_MAX), (_hooks, known[::-1], further)):
            for evaluation in evaluations:
                kinds = set(told_by(evaluation))
                if len(chosen) < most and not kinds <= covered:
                    covered |= kinds
                    chosen[evaluation.schedule] = None
        return list(chosen)

    def _reading(self, at: TaskSeed, known: Sequence[Evaluation], found: Sequence[Schedule]) -> list[Schedule]:
        """Return the schedules whose runs read the clock, as far as is known, what is claimed first, for repeats."""
        kinds: set[object] = set()
        for place, by_schedule in self._evaluator.reads.items():
            for schedule, reads in by_schedule.items() if place.task_id == at.task_id else ():
                if _own(reads):
                    kinds.update((injection.hook.interface, injection.operator_name) for injection in schedule)
        watched = self._evaluator.reads.get(at, {})
        faulty = {schedule for schedule, reads in watched.items() if schedule != EMPTY and _own(reads)}
        first = [schedule for schedule in found if schedule in faulty]
        more = [one.schedule for one in known if one.schedule in faulty]
        like = [one.schedule for one in known if one.schedule not in watched and kinds.intersection(kinds_of(one))]
        nominal = [EMPTY] if _own(watched.get(EMPTY, ())) else []
        return list(dict.fromkeys((*first, *more, *like)))[:READING_REPEATED] or nominal


def describe_reads(reads: Sequence[ChanceRead]) -> str:
    """Return what was read and where, as `real time (time.time() at agent.py:12 in pay)`."""
    told = []
    for chance in dict.fromkeys(read.chance for read in reads):
        places = [str(read) for read in reads if read.chance is chance]
        more = f" and {len(places) - PLACES_SHOWN} more" if len(places) > PLACES_SHOWN else ""
        told.append(f"{chance.value} ({', '.join(places[:PLACES_SHOWN])}{more})")
    return " and ".join(told)


def _own(reads: Iterable[ChanceRead]) -> list[ChanceRead]:
    """Return what the user's code reads, not that of packages; addresses are harmless unless runs differ."""
    return [read for read in reads if not read.package and read.chance is not Chance.ADDRESS]


def faulty_runs(evaluator: Evaluator, at: TaskSeed, found: Iterable[Schedule] = ()) -> list[Evaluation]:
    """Return runs in which some fault landed and which came to an end, the smallest first.

    Of many these are the smallest of each kind of fault and at each hook, what something is claimed of, what was
    watched, and a sample, which is the same in whatever order the runs were made.

    Args:
        evaluator: That has them.
        at: Task and seed.
        found: Schedules of which something is claimed.
    """
    log = evaluator.log_of(at)
    smallest: dict[object, Evaluation] = {}

    def seen() -> Iterator[Evaluation]:
        for run in log:
            if _is_faulty(run):
                for kind in (*kinds_of(run), *_hooks(run)) if len(log) > SAMPLE else ():
                    known = smallest.get(kind)
                    if known is None or _is_smaller(run, known):
                        smallest[kind] = run
                yield run

    sample = nsmallest(SAMPLE, seen(), key=_digest)
    special = [log.get(schedule) for schedule in (*found, *evaluator.reads.get(at, ()))]
    runs = {run.schedule: run for run in (*sample, *smallest.values(), *filter(_is_faulty, special))}
    return sorted(runs.values(), key=_size)


def _is_smaller(run: Evaluation, other: Evaluation) -> bool:
    more = len(run.schedule) - len(other.schedule)
    return more < 0 or (more == 0 and run.schedule.text < other.schedule.text)


def _is_faulty(run: Evaluation | None) -> TypeGuard[Evaluation]:
    return run is not None and run.status is Status.OK and run.ending is not Ending.HUNG and len(run.effective) > 0


_digest = attrgetter("digest")


def _size(run: Evaluation) -> tuple[int, str]:
    return len(run.schedule), run.schedule.text


def kinds_of(evaluation: Evaluation) -> Iterator[object]:
    """Return the operators that acted, each with its interface."""
    return ((injection.hook.interface, injection.operator_name) for injection in evaluation.effective)


def _hooks(evaluation: Evaluation) -> Iterator[object]:
    """Return the operators with their hooks, and the calls that were made: such as those of retries."""
    yield from ((str(injection.hook), injection.operator_name) for injection in evaluation.effective)
    yield from (str(crossing.place) for crossing in evaluation.crossings)
