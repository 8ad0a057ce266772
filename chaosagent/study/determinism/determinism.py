"""The checks that runs repeat: whether a target is deterministic, with the likely cause when it is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from chaosagent.clock import monotonic
from chaosagent.errors import PluginError, StudyError, TargetError
from chaosagent.execution.execute import Experiment
from chaosagent.execution.workers.executor import Executor
from chaosagent.execution.workers.workbench import Answering, Job, Workbench
from chaosagent.faults.chance_read import ChanceRead
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.written_file import WrittenFile
from chaosagent.study.divergence import for_command, likely_cause
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.target import Target
from chaosagent.trace.diff import Difference, first_difference

DECLARED = "the study says so"
RUNS_HERE = 5
SECONDS_HERE = 1.0
SAY_STOCHASTIC = "If it is a model that answers by chance, say `stochastic: true` in the study file."


class UncomparedTaskSeed(NamedTuple):
    """A task and seed of which a run had an error, so that nothing is known of it.

    Attributes:
        at: Task and seed.
        error: Of the run.
        in_other_process: It was the first run, in another process, and there was none in this one.
    """

    at: TaskSeed
    error: str
    in_other_process: bool

    def __str__(self) -> str:
        how = "in another process" if self.in_other_process else "run once more"
        return f"task {self.at.task_id!r}, seed {self.at.seed}, {how}: {self.error}"


class Determinism(NamedTuple):
    """What a target was found to be.

    Attributes:
        answering: How pure interfaces answer in the runs of the study: `FROZEN` for a stochastic target.
        reason: Where two runs without injections differed first, when they did.
        uncompared: Tasks and seeds that could not be compared, because one of their runs failed.
    """

    answering: Answering = Answering.LIVE
    reason: str = ""
    uncompared: tuple[UncomparedTaskSeed, ...] = ()

    @property
    def stochastic(self) -> bool:
        """Whether answers come by chance."""
        return self.answering is Answering.FROZEN


DETERMINISTIC = Determinism()


def examine(
    places: Sequence[TaskSeed], here: Workbench, elsewhere: Executor | None, *, stochastic: bool | None = None
) -> Determinism:
    """Run every task without injections twice, and say whether the target is deterministic.

    Args:
        places: Tasks and seeds.
        here: The workbench of this process.
        elsewhere: Another process with another hash seed; `None` to run twice in this one.
        stochastic: Whether answers are to be frozen; `None` to find out, `False` when the target must not need it.

    Returns:
        What is known of those that could be run, and which could not.

    Raises:
        StudyError: Two runs differ, and freezing the answers of pure interfaces does not help; the message names the
            first difference and the likely cause.
    """
    uncompared: list[UncomparedTaskSeed] = []
    if stochastic:
        nature = Determinism(Answering.FROZEN, DECLARED)
    else:
        unlike = next(_unlike(places, here, elsewhere, Answering.LIVE, uncompared), None)
        if unlike is None:
            return DETERMINISTIC._replace(uncompared=tuple(uncompared))
        if stochastic is False or not _is_by_chance(unlike, here):
            raise unlike.error()
        where = f"task {unlike.at.task_id!r}, seed {unlike.at.seed}"
        nature = Determinism(Answering.FROZEN, f"{where}: {unlike.difference}")
    uncompared.clear()
    still = next(_unlike(places, here, elsewhere, Answering.FROZEN, uncompared), None)
    if still is not None:
        raise still.error()
    return nature._replace(uncompared=tuple(uncompared))


def _is_by_chance(unlike: _Unlike, here: Workbench) -> bool:
    """Whether runs differ first in what a pure interface answered, so that freezing its answers may help."""
    at = unlike.at
    execution = here.execute(Job(at.task_id, at.seed, EMPTY, answering=Answering.FROZEN))
    pure = {answer.place.partition("[")[0] for answer in execution.answers}
    return unlike.difference.place.partition("[")[0] in pure


def compare_with(workbench: Workbench, at: TaskSeed, answering: Answering, told: Evaluation) -> None:
    """Compare the run without injections that an executor made with one of this process.

    Raises:
        StudyError: They differ; the message names the first difference and the likely cause.
    """
    if told.status is Status.ERROR:
        return
    job = Job(at.task_id, at.seed, EMPTY, answering=answering, world=at.world)
    if workbench.execute(job).trace.digest == told.digest:
        return
    unlike = _compared(at, workbench, told, answering)
    if unlike is not None:
        raise unlike.error()


class _Unlike(NamedTuple):
    """Two runs without injections that differ."""

    at: TaskSeed
    difference: Difference
    in_one_process: bool
    answering: Answering
    reads: tuple[ChanceRead, ...]
    changed: tuple[str, ...]
    written: tuple[WrittenFile, ...]
    is_command: bool

    def error(self) -> StudyError:
        """Return what refuses the target, with the likely cause and the remedy."""
        where = str(self.difference)
        if not self.in_one_process:
            where = f"two runs in one process are equal, two in different processes are not: {where}"
        is_frozen = self.answering is Answering.FROZEN
        frozen = ", even with the answers of its models frozen" if is_frozen else ""
        cause = likely_cause(
            self.difference,
            in_one_process=self.in_one_process,
            reads=self.reads,
            changed=self.changed,
            written=self.written,
        )
        if self.is_command:
            cause = for_command(cause)
        chance = "" if is_frozen else f" {SAY_STOCHASTIC}"
        return StudyError(
            f"task {self.at.task_id!r}, seed {self.at.seed}: the target is not deterministic{frozen}, so nothing found "
            f"in it could be proved or replayed. Without any injection, {where}. Likely cause: {cause}.{chance}"
        )


def advise(causes: Iterable[str], target: Target) -> tuple[str, ...]:
    """Return likely causes with advice that the author of a target can follow, whatever its language."""
    return tuple(for_command(cause) if target.is_command else cause for cause in causes)


def _unlike(
    places: Sequence[TaskSeed],
    here: Workbench,
    elsewhere: Executor | None,
    answering: Answering,
    uncompared: list[UncomparedTaskSeed],
) -> Iterator[_Unlike]:
    """Yield the tasks and seeds whose runs differ; those that cannot be run are put into `uncompared`."""
    told = [None] * len(places) if elsewhere is None else _run_elsewhere(places, elsewhere, answering)
    for at, one in zip(places, told, strict=True):
        if one is not None and one.status is Status.ERROR:
            uncompared.append(UncomparedTaskSeed(at, one.error, in_other_process=True))
            continue
        here.note_written(at.task_id, () if one is None else one.written)
        try:
            unlike = _compared(at, here, one, answering)
        except (TargetError, PluginError) as error:
            uncompared.append(UncomparedTaskSeed(at, str(error), in_other_process=False))
            continue
        if unlike is not None:
            yield unlike


def _run_elsewhere(places: Sequence[TaskSeed], elsewhere: Executor, answering: Answering) -> list[Evaluation]:
    """Return what runs told in another process, where one that never ends can be killed."""
    for ticket, at in enumerate(places):
        # A variable that only the first run in a process changes, such as a cache, can be named after that run alone.
        job = Job(at.task_id, at.seed, EMPTY, answering=answering, surveyed=True, files_noted=True)
        elsewhere.submit(ticket, job)
    told: dict[int, Evaluation] = {}
    while len(told) < len(places):
        finished = elsewhere.next_finished()
        told[finished.ticket] = finished.evaluation
    return [told[ticket] for ticket in range(len(places))]


def _compared(at: TaskSeed, workbench: Workbench, told: Evaluation | None, answering: Answering) -> _Unlike | None:
    """Run a task without injections in this process, and say how runs differ, also from what another one told."""
    job = Job(at.task_id, at.seed, EMPTY, answering=answering, world=at.world)
    difference = _differing_here(workbench, workbench.bare(at.task_id, at.seed, answering, at.world))
    in_one_process = difference is not None
    if difference is None and told is not None:
        execution = workbench.execute(job)
        if execution.trace.digest != told.digest:
            difference = difference_in_calls(execution.evaluation, told)
    if difference is None:
        return None
    again = workbench.evaluate(job._replace(watched=True, surveyed=True))
    changed = sorted({*again.changed, *(() if told is None else told.changed)})
    return _Unlike(
        at,
        difference,
        in_one_process,
        answering,
        again.reads,
        tuple(changed),
        again.written,
        is_command=workbench.target.is_command,
    )


def _differing_here(workbench: Workbench, bare: Experiment) -> Difference | None:
    """Run a task several times on end; what the first run leaves behind in the process shows in the second.

    Two runs agree by luck where chance decides now and then, so there are more, while they are quick.
    """
    execution = workbench.run(bare, EMPTY)
    workbench.note_written(bare.task.id, execution.evaluation.written)
    first = execution.trace
    begun = monotonic()
    for number in range(RUNS_HERE - 1):
        again = workbench.run(bare, EMPTY).trace
        if again.digest != first.digest:
            return first_difference(first, again)
        if number and monotonic() - begun > SECONDS_HERE:
            break
    return None
