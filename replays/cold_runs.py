"""Repeating runs of today's target where nothing was run before, before a record is called `HELD`.

The runs of a replay share a process, and so does what the target keeps between runs: a fix that only works because an
earlier run has filled a cache would seem to hold. So they are repeated, each in a process of its own. It is forked from
one that has loaded the target, has run nothing, and hashes texts otherwise.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from chaosagent.canonical import pack
from chaosagent.contracts.contract import Nominal
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Execution
from chaosagent.execution.run.frozen import FrozenAnswer
from chaosagent.execution.workers.executor import Executor
from chaosagent.execution.workers.second_process import (
    HASH_SEEDS,
    ColdProcesses,
    distinguishing_repeats,
    open_second_process,
    variation_of,
)
from chaosagent.execution.workers.workbench import Job, Workbench, load_workbench
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.limits import RunLimits
from chaosagent.replays.record import ReplayRecord
from chaosagent.study.divergence import cause_of_cold_difference
from chaosagent.trace.diff import Difference

THOROUGH_MAX = 16
"""Records of a target, task and seed that are repeated with every way to hash texts; further ones with one in turn."""


@dataclass(frozen=True, slots=True)
class ColdDifference:
    """A repeat that differs.

    Attributes:
        evaluation: Of the repeat.
        text: Where it differs, and the likely cause.
    """

    evaluation: Evaluation
    text: str


class ColdRun(NamedTuple):
    """A run to be repeated.

    Attributes:
        hash_seed: Number of one of the ways to hash texts.
        schedule: What is injected.
        watched: Note reads of the real time and other chance, and which variables of modules the run changes.
        answers: What pure interfaces of a stochastic target answer.
    """

    hash_seed: int
    schedule: Schedule
    watched: bool = False
    answers: tuple[FrozenAnswer, ...] | None = None


class ColdRuns:
    """Repeats runs for each target, configuration, contracts and limits in processes of their own, which it keeps.

    Args:
        folder: Where a relative file of a target is looked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._environment = folder, dict(os.environ)  # before a run changes it
        self._processes: dict[object, ColdProcesses] = {}
        self._tasks: dict[object, ColdRunsOfTask] = {}

    def of(self, record: ReplayRecord, target: str, config_name: str) -> ColdRunsOfTask:
        """Return what repeats runs of a record's task and seed.

        Args:
            record: The stored counterexample.
            target: How today's target is named.
            config_name: One of its configurations.
        """
        names, limits = (target, config_name, record.contract_specs), record.limits
        key = pack(names), limits
        if key not in self._processes:
            setup = partial(load_workbench, *names, limits=limits, folder=self._folder)
            self._processes[key] = ColdProcesses(partial(self._open, setup, limits))
        task = key, record.task.id, record.seed
        if task not in self._tasks:
            self._tasks[task] = ColdRunsOfTask(record.task.id, record.seed, self._processes[key])
        return self._tasks[task]

    def close(self) -> None:
        """End the processes."""
        for processes in self._processes.values():
            processes.close()

    def _open(self, setup: Callable[[], Workbench], limits: RunLimits, hash_seed: int) -> Executor:
        with contextlib.chdir(self._folder):
            return open_second_process(setup, hash_seed, limits=limits, environment=self._environment)


class ColdRunsOfTask:
    """Repeats runs of one task and seed.

    Args:
        task_id: The task.
        seed: Of the runs.
        processes: In which they are made.
    """

    def __init__(self, task_id: str, seed: int, processes: ColdProcesses) -> None:
        self._job, self._processes = Job(task_id, seed, EMPTY), processes
        self._undisturbed: dict[ColdRun, Evaluation] = {}
        self._records = 0

    def next_hash_seeds(self) -> Sequence[int]:
        """Return with which ways to hash texts the runs of one more record are repeated."""
        self._records += 1
        return range(HASH_SEEDS) if self._records <= THOROUGH_MAX else (self._records % HASH_SEEDS,)

    def run(self, runs: Sequence[ColdRun], nominal: Nominal) -> list[Evaluation]:
        """Return what runs did, in their order; one without injections is made once.

        Args:
            runs: All different.
            nominal: The run without injections with which they are compared.

        Raises:
            StudyError: A process cannot be started.
        """
        wanted = [one for one in runs if one not in self._undisturbed]
        made = dict(
            zip(
                wanted,
                self._processes.run([(one.hash_seed, self._job_of(one, nominal)) for one in wanted]),
                strict=True,
            )
        )
        self._undisturbed.update({one: evaluation for one, evaluation in made.items() if one.schedule == EMPTY})
        known = {**self._undisturbed, **made}
        return [known[one] for one in runs]

    def again(self, schedule: Schedule, numbers: Sequence[int], nominal: Nominal) -> list[Evaluation]:
        """Return what further runs of one schedule did, each in a process of its own.

        Args:
            schedule: What is injected.
            numbers: Of the processes from which they are forked.
            nominal: The run without injections with which they are compared.

        Raises:
            StudyError: A process cannot be started.
        """
        return self._processes.run([(number, self._job_of(ColdRun(number, schedule), nominal)) for number in numbers])

    def _job_of(self, run: ColdRun, nominal: Nominal) -> Job:
        return self._job._replace(
            schedule=run.schedule, nominal=nominal, surveyed=run.watched, watched=run.watched, answers=run.answers
        )


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
    runs = [ColdRun(seed, schedule, watched=seed == 0) for seed in cold.next_hash_seeds() for schedule in made]
    for run, evaluation in zip(runs, cold.run(runs, nominal), strict=True):
        _refuse_error(evaluation)
        known = made[run.schedule].evaluation
        if evaluation.digest != known.digest:
            text = _explained(run, evaluation, difference_in_calls(known, evaluation), cold, nominal)
            return ColdDifference(evaluation, text)
        notes.update(dict.fromkeys(_notes_on(evaluation)))
    return tuple(notes)


def cold_draws(
    made: Mapping[Schedule, Execution], nominal: Nominal, cold: ColdRunsOfTask
) -> dict[Schedule, list[Evaluation]]:
    """Repeat runs of a stochastic target with the answers that they had, and return what the repeats did.

    Args:
        made: One run of each schedule.
        nominal: The run without injections with which they were compared.
        cold: Repeats them.

    Raises:
        TargetError: One cannot be repeated.
        StudyError: A process cannot be started.
    """
    runs = [
        ColdRun(seed, schedule, answers=execution.answers)
        for seed in cold.next_hash_seeds()
        for schedule, execution in made.items()
    ]
    found: dict[Schedule, list[Evaluation]] = {schedule: [] for schedule in made}
    for run, evaluation in zip(runs, cold.run(runs, nominal), strict=True):
        _refuse_error(evaluation)
        found[run.schedule].append(evaluation)
    return found


def _refuse_error(evaluation: Evaluation) -> None:
    if evaluation.status is not Status.OK:
        raise TargetError(f"the run cannot be repeated in a process of its own: {evaluation.error}")


def _notes_on(watched: Evaluation) -> list[str]:
    """Say what a run asks for that differs from run to run, and which files it writes; empty if it was not watched."""
    reads = [f"the target reads {read}; all repeats were equal" for read in watched.reads if not read.package]
    return reads + [f"the target writes {written}, which other runs find there" for written in watched.written]


def _explained(
    run: ColdRun, differing: Evaluation, difference: Difference, cold: ColdRunsOfTask, nominal: Nominal
) -> str:
    """Say where a repeat differs and what the likely cause is, from further repeats, of which some are watched."""
    schedule = run.schedule
    watched = cold.run([ColdRun(seed, schedule, watched=True) for seed in range(HASH_SEEDS)], nominal)
    numbers = distinguishing_repeats(run.hash_seed, HASH_SEEDS)
    again = zip(numbers, cold.again(schedule, numbers, nominal), strict=True)
    told = [(number, one.digest) for number, one in again if one.status is Status.OK]
    cause = cause_of_cold_difference(
        difference,
        variation=variation_of([(run.hash_seed, differing.digest), *told]),
        reads=tuple(dict.fromkeys(read for one in watched for read in one.reads)),
        changed=watched[0].changed,
    )
    return f"{name_of_run(schedule)} differs in a process of its own: {difference}. Likely cause: {cause}"


def name_of_run(schedule: Schedule) -> str:
    """Return what a sentence calls a run with a schedule."""
    return f"a run with {schedule}" if schedule != EMPTY else "the run without faults"
