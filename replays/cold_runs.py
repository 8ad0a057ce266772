"""Repeating runs of today's target where nothing was run before, before a record is called `HELD`.

The runs of a replay share a process, and so does what the target keeps between runs: a fix that only works because an
earlier run has filled a cache would seem to hold. So they are repeated, each in a process of its own. It is forked from
one that has loaded the target, has run nothing, and hashes texts otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

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

HASH_SEEDS = 4
"""Ways to hash texts that are tried to find out why a repeat differs."""


class Repeat(Protocol):
    """Repeats runs of one task and seed, each in a process of its own."""

    def __call__(self, schedules: Sequence[Schedule], nominal: Nominal, *, watched: bool = False) -> list[Evaluation]:
        """Return what the runs did, in the order of their schedules.

        Args:
            schedules: One for each run, all different.
            nominal: The run without injections with which they are compared.
            hash_seed: Number of one of the ways to hash texts.
            watched: Note reads of the real time and other chance, and which variables of modules a run changes.

        Raises:
            StudyError: The process cannot be started.
        """
        ...


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
    """Starts a process for each target, configuration, contracts and limits when it is needed, and keeps it.

    Args:
        folder: Where a relative file of a target is looked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[_Key, Executor] = {}
        self._undisturbed: dict[object, Evaluation] = {}

    def of(self, record: ReplayRecord, target: str, config_name: str) -> Repeat:
        """Return what repeats runs of a record's task and seed.

        Args:
            record: The stored counterexample.
            target: How today's target is named.
            config_name: One of its configurations.
        """
        return partial(self._repeat, record, (target, config_name, record.contract_specs))

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()

    def _repeat(
        self,
        record: ReplayRecord,
        names: tuple[str, str, tuple[Plain, ...]],
        schedules: Sequence[Schedule],
        nominal: Nominal,
        *,
        hash_seed: int = 0,
        watched: bool = False,
    ) -> list[Evaluation]:
        key = pack(names), record.limits, hash_seed
        task = key, record.task.id, record.seed
        known = {EMPTY: self._undisturbed[task]} if task in self._undisturbed and not watched else {}
        wanted = [schedule for schedule in schedules if schedule not in known]
        process = self._process(key, names)
        for number, schedule in enumerate(wanted):
            job = Job(record.task.id, record.seed, schedule, alone=True, nominal=nominal)
            process.submit(number, job._replace(surveyed=watched, watched=watched))
        for _ in wanted:
            finished = process.next_finished()
            known[wanted[finished.ticket]] = finished.evaluation
        if EMPTY in wanted and not watched:
            self._undisturbed[task] = known[EMPTY]
        return [known[schedule] for schedule in schedules]

    def _process(self, key: _Key, names: tuple[str, str, tuple[Plain, ...]]) -> Executor:
        if key not in self._processes:
            _, limits, hash_seed = key
            setup = partial(load_workbench, *names, limits=limits, folder=self._folder)
            self._processes[key] = open_elsewhere(setup, hash_seed, limits=limits)
        return self._processes[key]


def cold_difference(made: Mapping[Schedule, Execution], nominal: Nominal, repeat: Repeat) -> ColdDifference | None:
    """Repeat runs and return the first repeat that differs, `None` when none does.

    Args:
        made: The runs, by their schedules.
        nominal: The run without injections with which they were compared.
        repeat: Repeats them.

    Raises:
        TargetError: One cannot be repeated.
        StudyError: The process cannot be started.
    """
    for schedule, evaluation in zip(made, repeat(list(made), nominal), strict=True):
        if evaluation.status is not Status.OK:
            raise TargetError(f"the run cannot be repeated in a process of its own: {evaluation.error}")
        if evaluation.digest != made[schedule].evaluation.digest:
            return _explained(schedule, made[schedule].evaluation, evaluation, partial(repeat, [schedule], nominal))
    return None


def _explained(
    schedule: Schedule, known: Evaluation, cold: Evaluation, again: Callable[..., list[Evaluation]]
) -> ColdDifference:
    difference = difference_in_calls(known, cold)
    (watched,) = again(watched=True)
    if watched.reads:
        cause = likely_cause(difference, reads=watched.reads, changed=watched.changed)
    else:
        digests = {again(hash_seed=number)[0].digest for number in range(1, HASH_SEEDS)}
        repeats, alike = watched.digest == cold.digest, digests == {cold.digest}
        cause = cause_of_cold_difference(difference, repeats=repeats, alike=alike, changed=watched.changed)
    what = f"a run with {schedule}" if schedule != EMPTY else "the run without faults"
    return ColdDifference(cold, f"{what} differs in a process of its own: {difference}. Likely cause: {cause}")
