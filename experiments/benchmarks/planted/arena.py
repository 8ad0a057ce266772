"""What an engine sees of a planted target: the declared space, and a function that runs a schedule and is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.experiments.benchmarks.planted.family import CERTAIN, KEPT, Family, Planted
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Hook
from chaosagent.faults.operator import Operator
from chaosagent.faults.schedule import Schedule
from chaosagent.study.shrinking.minimise import minimise, violates

EQUAL = 1e-9


class Enough(Exception):
    """The limit of executions is reached, or what was to be found is."""


@dataclass(slots=True)
class Milestones:
    """How many executions it took; `None` where it did not come to that.

    Attributes:
        executions: All of them.
        first: Until the first violation.
        minimum: Until a violation of the least cost.
        certificate: Until it was proved that nothing is cheaper, or that nothing within the budget breaks the contract.
        wrong: Certificates that say otherwise than the construction of the target, and counterexamples of a stochastic
            target that were confirmed and are flakes.
    """

    executions: int = 0
    first: int | None = None
    minimum: int | None = None
    certificate: int | None = None
    wrong: int = 0


class Truth:
    """Tells real violations of a stochastic target from flakes: runs schedules on its twin without chance.

    Args:
        family: Which family.
        seed: Of the layout.
    """

    def __init__(self, family: Family, seed: int) -> None:
        self._twin = family.planted(seed, chance=CERTAIN)
        self._workbench = workbench_of(self._twin)
        self._known: dict[Schedule, bool] = {}

    def is_real(self, schedule: Schedule) -> bool:
        """Whether a schedule makes violations likelier than flakes are."""
        if not self._twin.stochastic:
            return True
        if schedule not in self._known:
            self._known[schedule] = violates(self._workbench.evaluate(job_of(schedule)), KEPT.id)
        return self._known[schedule]


class Judged(NamedTuple):
    """What one execution told an engine.

    Attributes:
        violated: The contract is broken.
        margin: In [-1, 1]; 1 far from a violation, below 0 violated.
        cost: Of the injections that landed.
        landed: Those injections.
    """

    violated: bool
    margin: float
    cost: float
    landed: Schedule


class Arena:
    """One planted target as engines see it.

    A deterministic target is executed once per schedule; asked again, the answer is free. Each execution of a
    stochastic one counts, as it may go another way.

    Args:
        family: Which family.
        seed: Of the layout.
        cap: Most executions.

    Attributes:
        cap: Most executions, which engines may plan with.
        hooks: The declared places.
        levels: What may be injected at each, cheapest first.
        budget: Up to which counterexamples are wanted; dearer schedules may be tried.
        stochastic: Whether the same schedule may go otherwise when it is run again.
        milestones: How far it is; for the harness.
    """

    def __init__(self, family: Family, seed: int, cap: int) -> None:
        self._planted: Planted = family.planted(seed)
        self._truth = Truth(family, seed)
        self._workbench = workbench_of(self._planted)
        self._known: dict[Schedule, Evaluation] = {}
        self.cap = cap
        self.hooks: tuple[Hook, ...] = self._planted.hooks
        self.levels: Mapping[Hook, tuple[Operator, ...]] = {hook: self._planted.levels(hook) for hook in self.hooks}
        self.budget, self.stochastic = self._planted.budget, self._planted.stochastic
        self.milestones = Milestones()

    def __call__(self, schedule: Schedule) -> Judged:
        """Run a schedule.

        Raises:
            Enough: The minimum was found or the limit reached, by an earlier call.
        """
        return self._judged(self._evaluate(schedule))

    def cost(self, operator: Operator) -> float:
        """Return what one landed injection of an operator costs."""
        return self._planted.space.model.of(operator)

    def shrink(self, schedule: Schedule) -> Judged:
        """Reduce a violating schedule as a study does; what that executes counts."""
        evaluation = self._evaluate(schedule)
        return self._judged(minimise(evaluation, KEPT.id, self._planted.space, self._evaluate))

    def _judged(self, evaluation: Evaluation) -> Judged:
        verdict = evaluation.verdict(KEPT.id)
        cost = evaluation.effective.declared_cost(self._planted.space.model)
        if evaluation.status is Status.ERROR or verdict is None:
            return Judged(violated=False, margin=1.0, cost=cost, landed=evaluation.effective)
        return Judged(violates(evaluation, KEPT.id), verdict.margin, cost, evaluation.effective)

    def _evaluate(self, schedule: Schedule) -> Evaluation:
        known = self._known.get(schedule)
        if known is not None and not self.stochastic:
            return known
        reached = self.milestones
        if reached.minimum is not None or reached.executions >= self.cap:
            raise Enough
        evaluation = self._known[schedule] = self._workbench.evaluate(job_of(schedule))
        reached.executions += 1
        if violates(evaluation, KEPT.id):
            reached.first = reached.executions if reached.first is None else reached.first
            if is_least(self._planted, evaluation) and self._truth.is_real(evaluation.effective):
                reached.minimum = reached.executions
        return evaluation


def is_least(planted: Planted, evaluation: Evaluation) -> bool:
    """Whether what landed in a run costs no more than the planted minimum."""
    cost = evaluation.effective.declared_cost(planted.space.model)
    return planted.minimum is not None and cost <= planted.minimum + EQUAL


def workbench_of(planted: Planted) -> Workbench:
    """Return where the runs of a planted target happen."""
    return Workbench(planted.target, next(iter(planted.target.configs.values())), (KEPT,))


def job_of(schedule: Schedule) -> Job:
    """Return the job to run a schedule on the only task of a planted target."""
    return Job("default", 0, schedule)
