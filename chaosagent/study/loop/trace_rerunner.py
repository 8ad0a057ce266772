"""Reruns the schedules of counterexamples in this process to get their whole traces."""

from __future__ import annotations

from typing import NamedTuple

from chaosagent.contracts.contract import Nominal
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.execute import Execution
from chaosagent.execution.run.frozen import FrozenAnswer
from chaosagent.execution.workers.workbench import Answering, Job, Workbench
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.chance.racing import UnconfirmedViolation
from chaosagent.study.divergence import Divergence, divergence_of_effective, divergence_of_repeat, likely_cause
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.plan import Plan
from chaosagent.study.shrinking.minimise import Rerun, violates
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import ClockKind, Ending

ATTEMPTS_MAX = 20
"""How often a schedule that did not repeat is run until it violates again."""


class ViolatingRun(NamedTuple):
    """A violation with the run that shows it.

    Attributes:
        schedule: What was injected.
        execution: A run made afresh.
        cost: Of the schedule.
        is_reproduced: It went as the search has seen it.
        doubtful: Where it did not, and no fresh run violates within the budget: what there is instead of a
            counterexample.
    """

    schedule: Schedule
    execution: Execution
    cost: float
    is_reproduced: bool
    doubtful: UnconfirmedViolation | None = None


class TraceRerunner:
    """Makes such runs.

    Args:
        plan: Of the study.
        workbench: Of this process.
        evaluator: Knows what a schedule has told; records where a run has diverged.

    Attributes:
        answering: How pure interfaces answer.
    """

    def __init__(self, plan: Plan, workbench: Workbench, evaluator: Evaluator) -> None:
        self._plan = plan
        self._workbench, self._evaluator = workbench, evaluator
        self._kept: dict[tuple[TaskSeed, Schedule], Execution] = {}
        self._undisturbed: tuple[TaskSeed, Execution] | None = None
        self.answering = Answering.LIVE

    def run(self, at: TaskSeed, schedule: Schedule) -> Execution:
        """Run a schedule; one that was run before is not run again, once, and one that hung is not run here."""
        kept = self._kept.pop((at, schedule), None)
        if kept is not None:
            return kept
        job = Job(at.task_id, at.seed, schedule, answering=self.answering, world=at.world)
        known = self._evaluator.known(at, schedule)
        ends_itself = self._workbench.target.clock is ClockKind.WALL
        if known is not None and known.ending is Ending.HUNG and not ends_itself:
            return self._workbench.hung(job, known.detail)
        return self._workbench.execute(job)

    def nominal_of(self, at: TaskSeed) -> Nominal | None:
        """Return what the run of a task and seed without injections did, `None` when it was not made here."""
        return self._workbench.nominal_of(at.task_id, at.seed, self.answering, at.world)

    def keep(self, at: TaskSeed, schedule: Schedule) -> Execution:
        """Run a schedule before its search is over; the run is kept until it is asked for."""
        execution = self._kept[at, schedule] = self.run(at, schedule)
        return execution

    def show(self, at: TaskSeed, best: Evaluation, contract: str, rerun: Rerun) -> ViolatingRun:
        """Run what violates once more, for its whole trace; where runs do not repeat, until one violates.

        Mostly that is what landed. If it does not violate alone, what did not land matters all the same, or chance
        does. Then it is the whole schedule, unless that is above the budget.

        Args:
            at: Task and seed.
            best: A run that violates.
            contract: Id of what it violates.
            rerun: Runs a schedule as the search does.
        """
        schedule, told = best.effective, rerun(best.effective)
        if not violates(told, contract):
            self._evaluator.differ(at, self._named(at, divergence_of_effective(at.world, best, told)))
            if self._is_affordable(best.schedule) or schedule == EMPTY:
                schedule, told = best.schedule, best
        fresh = self.run(at, schedule)
        is_equal = fresh.evaluation.digest == told.digest and schedule == fresh.evaluation.effective
        if is_equal and violates(told, contract):
            return ViolatingRun(schedule, fresh, self._cost(schedule), is_reproduced=True)
        divergence = divergence_of_repeat(at.world, schedule, difference_in_calls(told, fresh.evaluation))
        self._evaluator.differ(at, self._named(at, divergence))
        return self._violating(at, schedule, contract, fresh)

    def _violating(self, at: TaskSeed, schedule: Schedule, contract: str, first: Execution) -> ViolatingRun:
        """Run a schedule whose runs differ until one violates."""
        execution, runs = first, 1
        while not violates(execution.evaluation, contract) and runs <= ATTEMPTS_MAX:
            execution, runs = self.run(at, schedule), runs + 1
        violations, cost = int(violates(execution.evaluation, contract)), self._cost(schedule)
        doubtful = None
        if not violations or not self._is_affordable(schedule):
            confirmation = Confirmation(violations, runs, 0, 0, evidence=1.0, undecided=True)
            doubtful = UnconfirmedViolation(schedule, cost, confirmation)
        return ViolatingRun(schedule, execution, cost, is_reproduced=False, doubtful=doubtful)

    def _cost(self, schedule: Schedule) -> float:
        return schedule.declared_cost(self._plan.space.model)

    def _is_affordable(self, schedule: Schedule) -> bool:
        return self._cost(schedule) <= self._plan.budget + COST_TOLERANCE

    def _named(self, at: TaskSeed, divergence: Divergence) -> Divergence:
        """Return a divergence with what one more run, which is watched, shows of its cause."""
        schedule = divergence.schedules[0]
        known = self._evaluator.known(at, schedule)
        if at.of_study in self._evaluator.unlike or (known is not None and known.ending is Ending.HUNG):
            return divergence
        job = Job(at.task_id, at.seed, schedule, answering=self.answering, world=at.world, watched=True, surveyed=True)
        watched = self._workbench.evaluate(job)
        if not (watched.reads or watched.changed or watched.written):
            return divergence
        cause = likely_cause(
            divergence.difference, reads=watched.reads, changed=watched.changed, written=watched.written
        )
        return divergence._replace(cause=cause, reads=watched.reads)

    def answers(self, at: TaskSeed, execution: Execution) -> tuple[FrozenAnswer, ...]:
        """Return the frozen answers of a run and of the one without injections, by which it is judged."""
        if self.answering is not Answering.FROZEN:
            return ()
        return tuple(dict.fromkeys((*execution.answers, *self.run(at, EMPTY).answers)))

    def undisturbed(self, at: TaskSeed) -> Execution | None:
        """Return the run without injections, which is made once for all that was found; `None` if it cannot be made."""
        if self._undisturbed is None or self._undisturbed[0] != at:
            try:
                self._undisturbed = at, self.run(at, EMPTY)
            except ChaosAgentError:
                return None
        return self._undisturbed[1]

    def forget(self, at: TaskSeed) -> None:
        """Drop what was kept of a task and seed and not asked for."""
        for key in [key for key in self._kept if key[0][:2] == at[:2]]:
            del self._kept[key]
        self._undisturbed = None
