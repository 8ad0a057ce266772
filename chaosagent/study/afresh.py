"""Runs of what was found, made afresh in this process, with their whole traces."""

from __future__ import annotations

from collections.abc import Callable

from chaosagent.contracts.contract import Nominal
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.execute import Execution
from chaosagent.execution.frozen import FrozenAnswer
from chaosagent.execution.workbench import Answering, Job, Workbench
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.divergence import Divergence, repeated
from chaosagent.study.evaluator import Experimental
from chaosagent.study.likely_cause import likely_cause
from chaosagent.study.minimise import violates
from chaosagent.vocabulary import ClockKind, Ending

ATTEMPTS_MAX = 20
"""How often a schedule that did not repeat is run until it violates again."""


class Afresh:
    """Makes such runs.

    Args:
        workbench: Of this process.
        known: Returns what a schedule has told, `None` when it was not run.

    Attributes:
        answering: How pure interfaces answer.
    """

    def __init__(self, workbench: Workbench, known: Callable[[Experimental, Schedule], Evaluation | None]) -> None:
        self._workbench, self._known = workbench, known
        self._kept: dict[tuple[Experimental, Schedule], Execution] = {}
        self._undisturbed: tuple[Experimental, Execution] | None = None
        self.answering = Answering.LIVE

    def run(self, at: Experimental, schedule: Schedule) -> Execution:
        """Run a schedule; one that was run before is not run again, once, and one that hung is not run here."""
        kept = self._kept.pop((at, schedule), None)
        if kept is not None:
            return kept
        job = Job(at.task_id, at.seed, schedule, answering=self.answering, world=at.world)
        known = self._known(at, schedule)
        ends_itself = self._workbench.target.clock is ClockKind.WALL
        if known is not None and known.ending is Ending.HUNG and not ends_itself:
            return self._workbench.hung(job, known.detail)
        return self._workbench.execute(job)

    def nominal_of(self, at: Experimental) -> Nominal | None:
        """Return what the run of a task and seed without injections did, `None` when it was not made here."""
        return self._workbench.nominal_of(at.task_id, at.seed, self.answering, at.world)

    def keep(self, at: Experimental, schedule: Schedule) -> Execution:
        """Run a schedule before its search is over; the run is kept until it is asked for."""
        execution = self._kept[at, schedule] = self.run(at, schedule)
        return execution

    def violating(self, at: Experimental, schedule: Schedule, contract: str, first: Execution) -> Execution:
        """Return a run that violates, of a schedule whose runs differ; the first one when none does.

        Args:
            at: Task and seed.
            schedule: What is injected.
            contract: Id of what is to be violated.
            first: The first run that was made afresh.
        """
        execution = first
        for _ in range(ATTEMPTS_MAX):
            if violates(execution.evaluation, contract):
                return execution
            execution = self.run(at, schedule)
        return first

    def divergence_of(self, at: Experimental, told: Evaluation, again: Evaluation) -> Divergence:
        """Say how a run made afresh has diverged; one more is watched for the cause."""
        schedule, difference = again.schedule, difference_in_calls(told, again)
        job = Job(at.task_id, at.seed, schedule, answering=self.answering, world=at.world, watched=True, surveyed=True)
        watched = self._workbench.evaluate(job)
        cause = likely_cause(difference, reads=watched.reads, changed=watched.changed, written=watched.written)
        return repeated(at.world, schedule, difference, watched.reads, cause)

    def answers(self, at: Experimental, execution: Execution) -> tuple[FrozenAnswer, ...]:
        """Return the frozen answers of a run and of the one without injections, by which it is judged."""
        if self.answering is not Answering.FROZEN:
            return ()
        return tuple(dict.fromkeys((*execution.answers, *self.run(at, EMPTY).answers)))

    def undisturbed(self, at: Experimental) -> Execution | None:
        """Return the run without injections, which is made once for all that was found; `None` if it cannot be made."""
        if self._undisturbed is None or self._undisturbed[0] != at:
            try:
                self._undisturbed = at, self.run(at, EMPTY)
            except ChaosAgentError:
                return None
        return self._undisturbed[1]

    def forget(self) -> None:
        """Drop what was kept and not asked for."""
        self._kept.clear()
        self._undisturbed = None
