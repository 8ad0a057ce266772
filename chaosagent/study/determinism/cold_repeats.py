"""Cold repeats: runs under faults, repeated in processes that have loaded the target and run nothing.

All runs of a study that share a process share its module state and the order of its sets. So ordinary repeats cannot
reveal a cache that the run without injections has filled, or a set order that matters only after a fault. Each cold
repeat has a process of its own, forked from one of several that differ in their hash seed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from chaosagent.clock import monotonic
from chaosagent.contracts.contract import Nominal
from chaosagent.execution.workers.executor import Executor
from chaosagent.execution.workers.second_process import (
    HASH_SEEDS,
    ColdProcesses,
    Variation,
    distinguishing_repeats,
    variation_of,
)
from chaosagent.execution.workers.workbench import Job
from chaosagent.faults.chance_read import ChanceRead
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.certificate import ColdEvidence
from chaosagent.study.determinism.repeats import faulty_runs, kinds_of
from chaosagent.study.divergence import Divergence, cause_of_cold_difference, divergence_of_repeat, listed_variables
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import Ending

SCHEDULES_MIN = 8
RUNS_MAX = 512
OTHERS_MAX = 128
"""Other schedules of a task that are repeated, too, where runs change variables of modules."""

SHARE = 16
"""Of each task `SCHEDULES_MIN` schedules are repeated under each hash seed, or one run in `SHARE`, up to `RUNS_MAX`."""


class _Repeat(NamedTuple):
    """One repeat: what was run, and where it is made again."""

    at: TaskSeed
    told: Evaluation
    seed: int


class _Again(NamedTuple):
    """What many repeats of one run have shown.

    Attributes:
        variation: Which of them differ.
        digests: Of the runs; empty if one has told nothing.
        reads: What they asked for that differs from run to run.
        changed: The variables of modules that they change.
    """

    variation: Variation
    digests: frozenset[str]
    reads: tuple[ChanceRead, ...]
    changed: frozenset[str]


class ColdRepeats:
    """Makes cold repeats. It starts its processes when it needs them first, and keeps them until `close`.

    Args:
        evaluator: Of the study; records the first difference.
        open_process: Starts the process of a number, each with another hash seed; `None` where there can be none.
        nominal_of: Returns what the run of a task and seed without injections did.
        fresh: Every run of the study has a process of its own, so what it changes matters to no other.
        on_progress: Called before the repeats and after each, with how many of how many were made.

    Attributes:
        runs: How many repeats were made.
        seconds: Real time that they took, with starting the processes.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        open_process: Callable[[int], Executor] | None,
        nominal_of: Callable[[TaskSeed], Nominal | None],
        *,
        fresh: bool = False,
        on_progress: Callable[[int, int], object] = lambda made, total: None,  # noqa: ARG005
    ) -> None:
        self._fresh, self._on_progress = fresh, on_progress
        self._over: set[TaskSeed] = set()
        self._evaluator, self._nominal_of = evaluator, nominal_of
        self._processes = None if open_process is None else ColdProcesses(open_process)
        self._equal: Counter[TaskSeed] = Counter()
        self._failed: dict[TaskSeed, list[str]] = defaultdict(list)
        self._changed: dict[TaskSeed, Counter[str]] = defaultdict(Counter)
        self.runs = 0
        self.seconds = 0.0

    def repeat(self, at: TaskSeed, found: Sequence[Schedule], *, hurried: bool) -> None:
        """Repeat runs of a task and seed; ends when all have.

        Args:
            at: Task and seed.
            found: Schedules of which something is claimed; these come first.
            hurried: The study has no time left: only one run in each process, each of another schedule.
        """
        nominal = self._nominal_of(at)
        if self._processes is None or nominal is None or self._evaluator.diverged_in(at.task_id):
            return
        begun = monotonic()
        try:
            chosen = self._chosen(at, found, hurried=hurried)
            self._compare(self._made(chosen, nominal))
            is_suspicious = self._changed[_in_any_world(at)] and not self._fresh
            if is_suspicious and not (hurried or self._evaluator.diverged_in(at.task_id)):
                # What is kept may matter in any of them.
                self._compare(self._made(self._others(at, chosen), nominal, surveyed=False))
            self._over.add(_in_any_world(at))
        finally:
            self.seconds += monotonic() - begun

    def explain(self, at: TaskSeed) -> None:
        """Name what the process keeps between runs as the cause, where two runs of a task and seed differed by it.

        Each is made several times in processes that have run nothing. If it repeats there, but not as it was made in
        the search, that is the cause, and what it changes there is named: a circuit breaker that is open already
        changes no more. If it repeats there, but not under other hash seeds, that is; if it does not, chance is.

        Args:
            at: Task and seed.
        """
        divergence = self._evaluator.divergences.pop(_in_any_world(at), None)
        if divergence is None or self._fresh or self._processes is None:
            return
        at = at._replace(world=divergence.world)
        schedules, nominal = dict.fromkeys(divergence.schedules), self._nominal_of(at)
        told = [one for schedule in schedules if (one := self._evaluator.known(at, schedule)) is not None]
        if nominal is None or len(told) < len(schedules):
            return
        begun = monotonic()
        try:
            made = [self._made_again(_Repeat(at, one, 0), nominal) for one in told]
        finally:
            self.seconds += monotonic() - begun
        if all(again.digests for again in made):
            self._name_cause(at, divergence, told, made)

    def _name_cause(
        self, at: TaskSeed, divergence: Divergence, told: Sequence[Evaluation], made: Sequence[_Again]
    ) -> None:
        """Name the cause of a divergence that further repeats of its runs show."""
        variation = max(again.variation for again in made)
        is_as_told = all({one.digest} == again.digests for one, again in zip(told, made, strict=True))
        if variation is Variation.NONE and is_as_told and len(told) > 1:  # the operator makes the difference, always
            if not divergence.reads:
                self._evaluator.name_cause(at, divergence.with_cause)
            return
        cause = cause_of_cold_difference(
            divergence.difference,
            variation=variation,
            reads=tuple(
                dict.fromkeys(read for reads in (divergence.reads, *(one.reads for one in made)) for read in reads)
            ),
            changed=sorted({name for again in made for name in again.changed}),
            written=self._evaluator.written.of(at.task_id),
        )
        self._evaluator.name_cause(at, divergence._replace(cause=cause).with_cause)

    def evidence_of(self, at: TaskSeed, *, interrupted: bool) -> ColdEvidence:
        """Return what the repeats of a task and seed have shown.

        Args:
            at: Task and seed.
            interrupted: The study was, perhaps before they were made.
        """
        at = _in_any_world(at)
        if interrupted and self._processes is not None and at not in self._over:
            return ColdEvidence("", (), missing=True)
        is_kept = self._equal[at] and not self._fresh
        return ColdEvidence(self._text_of(at), tuple(self._changed[at]) if is_kept else ())

    def _text_of(self, at: TaskSeed) -> str:
        told = []
        if self._equal[at]:
            seeds = f"with {HASH_SEEDS} hash seeds"
            told.append(f"{self._equal[at]} repeats in processes of their own {seeds} were equal")
        if self._failed[at]:
            told.append(f"{len(self._failed[at])} could not be made ({self._failed[at][0]})")
        if told and self._changed[at]:
            told.append(f"runs change {listed_variables(list(self._changed[at]))}")
        return "; ".join(told)

    def close(self) -> None:
        """End the processes."""
        if self._processes is not None:
            self._processes.close()

    def _chosen(self, at: TaskSeed, found: Sequence[Schedule], *, hurried: bool) -> list[_Repeat]:
        """Return repeats, such that each schedule has as many hash seeds as there is room for."""
        known = faulty_runs(self._evaluator, at, found)
        schedules_max = SCHEDULES_MIN if hurried else min(max(SCHEDULES_MIN, len(known) // SHARE), RUNS_MAX)
        chosen = self._schedules(at, known, found, schedules_max)
        runs_max = HASH_SEEDS if hurried else max(HASH_SEEDS * SCHEDULES_MIN, min(len(known) // SHARE, RUNS_MAX))
        every = [
            _Repeat(at, told, (number + round_) % HASH_SEEDS)
            for round_ in range(HASH_SEEDS)
            for number, told in enumerate(chosen)
        ]
        return every[:runs_max]

    def _others(self, at: TaskSeed, chosen: Sequence[_Repeat]) -> list[_Repeat]:
        """Return a repeat of each schedule that none was chosen of, as far as there is room."""
        known = {one.told.schedule for one in chosen}
        left = [one for one in faulty_runs(self._evaluator, at) if one.schedule not in known]
        spread = left[:: max(1, -(-len(left) // OTHERS_MAX))]
        return [_Repeat(at, one, number % HASH_SEEDS) for number, one in enumerate(spread)]

    def _schedules(
        self, at: TaskSeed, known: Sequence[Evaluation], found: Sequence[Schedule], schedules_max: int
    ) -> list[Evaluation]:
        """Return what is claimed, and of each kind of fault the run that differs most from the one without any."""
        by_schedule = {one.schedule: one for one in known}
        chosen = {schedule: by_schedule[schedule] for schedule in found if schedule in by_schedule}
        undisturbed = self._evaluator.known(at, EMPTY)
        calls = Counter[object]() if undisturbed is None else _calls(undisturbed)
        known = sorted(known, key=lambda one: (-_distance(calls, one), len(one.schedule), one.schedule.text))
        covered: set[object] = set()
        for one in known:
            kinds = set(kinds_of(one))
            if not kinds <= covered:
                covered |= kinds
                chosen.setdefault(one.schedule, one)
        for one in known:
            chosen.setdefault(one.schedule, one)
        return list(chosen.values())[:schedules_max]

    def _made(
        self, repeats: Sequence[_Repeat], nominal: Nominal, *, surveyed: bool = True, watched: bool = False
    ) -> list[tuple[_Repeat, Evaluation]]:
        """Make repeats, in all processes at a time, and return what each told."""
        assert self._processes is not None
        jobs = [
            (
                repeat.seed,
                self._job(repeat.at, repeat.told.schedule, nominal)._replace(surveyed=surveyed, watched=watched),
            )
            for repeat in repeats
        ]
        made = self._processes.run(jobs, self._on_progress)
        self.runs += len(made)
        return list(zip(repeats, made, strict=True))

    def _job(self, at: TaskSeed, schedule: Schedule, nominal: Nominal) -> Job:
        job = Job(at.task_id, at.seed, schedule, answering=self._evaluator.answering, world=at.world)
        return job._replace(nominal=nominal)

    def _compare(self, made: Sequence[tuple[_Repeat, Evaluation]]) -> None:
        by_schedule: dict[Schedule, list[tuple[_Repeat, Evaluation]]] = defaultdict(list)
        for repeat, again in made:
            at = _in_any_world(repeat.at)
            if again.status is not Status.OK or again.ending is Ending.HUNG:
                self._failed[at].append(again.error or again.detail)
                continue
            self._changed[at].update(again.changed)
            self._equal[at] += again.digest == repeat.told.digest
            by_schedule[repeat.told.schedule].append((repeat, again))
        for runs in by_schedule.values():
            unlike = [(repeat, again) for repeat, again in runs if again.digest != repeat.told.digest]
            if unlike:
                self._note(*unlike[0])
                return

    def _note(self, repeat: _Repeat, unlike: Evaluation) -> None:
        """Note a repeat that differs; more of them tell chance from the hash seed and from what is kept."""
        at, told, first = repeat
        again = self._made_again(repeat, self._nominal_of(at) or Nominal(), (first, unlike.digest))
        difference = difference_in_calls(told, unlike)
        cause = cause_of_cold_difference(
            difference,
            variation=again.variation,
            reads=again.reads,
            changed=unlike.changed,
            written=self._evaluator.written.of(at.task_id),
        )
        cause = f"{cause} (seen in a process of its own)"
        self._evaluator.differ(at, divergence_of_repeat(at.world, told.schedule, difference, cause=cause))
        self._evaluator.divergences.pop(_in_any_world(at), None)  # there is nothing more to find out

    def _made_again(self, repeat: _Repeat, nominal: Nominal, *known: tuple[int, str]) -> _Again:
        """Repeat a run often, in each process and in two more with the same hash seeds, and watch it there.

        Args:
            repeat: What was run, and where it is to be looked at most closely.
            nominal: The run without injections.
            known: Processes and digests of repeats that were made.
        """
        numbers = distinguishing_repeats(repeat.seed, HASH_SEEDS)
        made = self._made([repeat._replace(seed=number) for number in numbers], nominal)
        is_watched = not self._evaluator.in_real_time  # there a watched run, which is slow, ends otherwise
        seen = self._made([repeat._replace(seed=seed) for seed in range(HASH_SEEDS)], nominal, watched=is_watched)
        told = [(one.seed, again.digest) for one, again in made if again.status is Status.OK]
        return _Again(
            variation_of([*known, *told]),
            frozenset(digest for _, digest in told) if len(told) == len(made) else frozenset(),
            tuple(dict.fromkeys(read for _, again in seen for read in again.reads)),
            frozenset(name for _, again in made for name in again.changed),
        )


def _in_any_world(at: TaskSeed) -> TaskSeed:
    return at._replace(world=0)


def _calls(evaluation: Evaluation) -> Counter[object]:
    return Counter((one.place.interface, one.request, one.response) for one in evaluation.crossings)


def _distance(calls: Counter[object], one: Evaluation) -> int:
    """Return how many calls a run has made that another has not, or the other way round."""
    others = _calls(one)
    return (calls - others).total() + (others - calls).total()
