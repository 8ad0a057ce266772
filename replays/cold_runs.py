"""Repeating runs of today's target where nothing was run before, before a record is called `HELD`.

The runs of a replay share a process, and so does what the target keeps between runs: a fix that only works because an
earlier run has filled a cache would seem to hold. So they are repeated, each in a process of its own. It is forked from
one that has loaded the target, has run nothing, and hashes texts otherwise.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from chaosagent.canonical import Plain, pack
from chaosagent.contracts.contract import Nominal
from chaosagent.errors import TargetError
from chaosagent.execution.elsewhere import open_elsewhere
from chaosagent.execution.execute import Execution
from chaosagent.execution.executor import Executor
from chaosagent.execution.workbench import Job, load_workbench
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.limits import RunLimits
from chaosagent.replays.record import ReplayRecord
from chaosagent.study.likely_cause import cause_of_cold_difference, likely_cause

HASH_SEEDS = 8
"""Ways to hash texts; each has a process."""

THOROUGH_MAX = 16
"""Records of a target, task and seed that are repeated with every way to hash texts; further ones with one in turn."""


class ColdDifference(NamedTuple):
    """A repeat that differs.

    Attributes:
        evaluation: Of the repeat.
        text: Where it differs, and the likely cause.
    """

    evaluation: Evaluation
    text: str


_Key: TypeAlias = tuple[bytes, RunLimits, int]


class ColdRuns:
    """Starts processes for each target, configuration, contracts and limits when they are needed, and keeps them.

    Args:
        folder: Where a relative file of a target is looked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._environment = folder, dict(os.environ)  # before a run changes it
        self._processes: dict[_Key, Executor] = {}
        self._tasks: dict[object, ColdRunsOfTask] = {}

    def of(self, record: ReplayRecord, target: str, config_name: str) -> ColdRunsOfTask:
        """Return what repeats runs of a record's task and seed.

        Args:
            record: The stored counterexample.
            target: How today's target is named.
            config_name: One of its configurations.
        """
        names = target, config_name, record.contract_specs
        key = pack(names), record.limits, record.task.id, record.seed
        if key not in self._tasks:
            process = partial(self._process, names, record.limits)
            self._tasks[key] = ColdRunsOfTask(record.task.id, record.seed, process)
        return self._tasks[key]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()

    def _process(self, names: tuple[str, str, tuple[Plain, ...]], limits: RunLimits, hash_seed: int) -> Executor:
        key = pack(names), limits, hash_seed
        if key not in self._processes:
            setup = partial(load_workbench, *names, limits=limits, folder=self._folder)
            with contextlib.chdir(self._folder):
                started = open_elsewhere(setup, hash_seed, limits=limits, environment=self._environment)
            self._processes[key] = started
        return self._processes[key]


class ColdRunsOfTask:
    """Repeats runs of one task and seed, each in a process of its own.

    Args:
        task_id: The task.
        seed: Of the runs.
        process: Returns the process that runs are forked from, by the number of a way to hash texts.
    """

    def __init__(self, task_id: str, seed: int, process: Callable[[int], Executor]) -> None:
        self._job, self._process = Job(task_id, seed, EMPTY, alone=True), process
        self._undisturbed: dict[int, Evaluation] = {}
        self._count = 0

    def hash_seeds(self) -> tuple[int, ...]:
        """Return with which ways to hash texts the runs of the next record are repeated, and start their processes."""
        self._count += 1
        chosen = tuple(range(HASH_SEEDS)) if self._count <= THOROUGH_MAX else (self._count % HASH_SEEDS,)
        for number in chosen:
            self._process(number)  # all of them load the target at the same time
        return chosen

    def run(
        self, schedules: Sequence[Schedule], nominal: Nominal, hash_seed: int, *, watched: bool = False
    ) -> list[Evaluation]:
        """Return what runs did, in the order of their schedules.

        Args:
            schedules: One for each run, all different.
            nominal: The run without injections with which they are compared.
            hash_seed: Number of one of the ways to hash texts.
            watched: Note reads of the real time and other chance, and which variables of modules a run changes.

        Raises:
            StudyError: The process cannot be started.
        """
        is_known = hash_seed in self._undisturbed and not watched
        known = {EMPTY: self._undisturbed[hash_seed]} if is_known else {}
        wanted = [schedule for schedule in schedules if schedule not in known]
        process = self._process(hash_seed)
        for number, schedule in enumerate(wanted):
            process.submit(
                number, self._job._replace(schedule=schedule, nominal=nominal, surveyed=watched, watched=watched)
            )
        for _ in wanted:
            finished = process.next_finished()
            known[wanted[finished.ticket]] = finished.evaluation
        if EMPTY in known and not watched:
            self._undisturbed[hash_seed] = known[EMPTY]
        return [known[schedule] for schedule in schedules]


def cold_difference(
    made: Mapping[Schedule, Execution], nominal: Nominal, cold: ColdRunsOfTask
) -> ColdDifference | tuple[str, ...]:
    """Repeat runs and return the first repeat that differs; when none does, notes on what repeats may have missed.

    Args:
        made: The runs, by their schedules.
        nominal: The run without injections with which they were compared.
        cold: Repeats them.

    Raises:
        TargetError: One cannot be repeated.
        StudyError: A process cannot be started.
    """
    notes: dict[str, None] = {}
    for hash_seed in cold.hash_seeds():
        is_watched = hash_seed == 0
        for schedule, evaluation in zip(
            made, cold.run(list(made), nominal, hash_seed, watched=is_watched), strict=True
        ):
            notes.update(dict.fromkeys(_notes_on(evaluation)))
            if evaluation.status is not Status.OK:
                raise TargetError(f"the run cannot be repeated in a process of its own: {evaluation.error}")
            known = made[schedule].evaluation
            if evaluation.digest != known.digest:
                again = partial(cold.run, [schedule], nominal)
                return _explained(schedule, known, evaluation, again, hash_seed)
    return tuple(notes)


def _notes_on(watched: Evaluation) -> list[str]:
    """Say what a run asks for that differs from run to run, and which files it writes; empty if it was not watched."""
    reads = [f"the target reads {read}; all repeats were equal" for read in watched.reads if not read.package]
    return reads + [f"the target writes {written}, which other runs find there" for written in watched.written]


def _explained(
    schedule: Schedule,
    known: Evaluation,
    cold: Evaluation,
    again: Callable[..., list[Evaluation]],
    hash_seed: int,
) -> ColdDifference:
    difference = difference_in_calls(known, cold)
    (watched,) = again(hash_seed, watched=True)
    if watched.reads:
        cause = likely_cause(difference, reads=watched.reads, changed=watched.changed)
    else:
        digests = {again(number)[0].digest for number in range(HASH_SEEDS)}
        repeats, alike = watched.digest == cold.digest, digests == {cold.digest}
        cause = cause_of_cold_difference(difference, repeats=repeats, alike=alike, changed=watched.changed)
    what = f"a run with {schedule}" if schedule != EMPTY else "the run without faults"
    return ColdDifference(cold, f"{what} differs in a process of its own: {difference}. Likely cause: {cause}")
