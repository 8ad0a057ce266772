"""Runs of a target for a test: without faults, under schedules and random ones, and what they break."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from chaosagent.api.result import StudyResult
from chaosagent.api.rows import Certificate
from chaosagent.contracts.contract import Contract
from chaosagent.errors import ChaosAgentError, UsageError
from chaosagent.execution.execute import Execution, Experiment, nominal_in
from chaosagent.execution.workers.workbench import failed_evaluation
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.replays.drawing import run_schedule
from chaosagent.replays.record import Named, ReplayRecord, record_of_run
from chaosagent.replays.today import is_broken
from chaosagent.searchers.random import RandomSearcher
from chaosagent.study.loop.build_certificate import is_injectable
from chaosagent.study.plan import Plan
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimise import minimise
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Landing

ABREAST = 16
REDUCING_RUNS_MAX = 60
"""Most runs that are made to leave out and weaken the faults of a random schedule, for each contract."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of one task and seed of a plan."""

    plan: Plan
    experiment: Experiment
    undisturbed: Execution

    def at_random(self, count: int) -> Iterator[Violation]:
        """Yield what random schedules within the budget break that holds without faults; equal plans give equal ones.

        Raises:
            UsageError: Nothing can be injected within the budget.
        """
        plan = self.plan
        searcher = RandomSearcher(Problem("", 0, plan.space, plan.budget, self.experiment.seed, plan.seed))
        searcher.ask(1)  # the run without injections shows where something can be injected
        searcher.tell(self.undisturbed.evaluation)
        made = 0
        while made < count and (proposals := searcher.ask(min(ABREAST, count - made))):
            for proposal in proposals:
                execution = run_schedule(self.experiment, proposal.schedule)
                for contract in plan.contracts:
                    before = self.undisturbed.trace.verdict(contract.id)
                    if is_broken(execution.trace.verdict(contract.id)) and not is_broken(before):
                        yield Violation(self, contract, execution)
                searcher.tell(execution.evaluation)
                made += 1
        if not made:
            raise self._idle("random", "can be")

    def refuse_broken_before(self, result: StudyResult, seen: Collection[str]) -> None:
        """Refuse a search whose run without faults broke a contract, where one more such run does not.

        Args:
            result: Of the search.
            seen: Contracts that one more run breaks.

        Raises:
            UsageError: There is such a contract.
        """
        for one in self._searches(result):
            if one.violated_nominally and one.contract not in seen:
                raise UsageError(
                    f"{one.contract} breaks in {one.task}, seed {one.seed}, without any fault, though not in each run: "
                    "the target is not deterministic, so see what `chaosagent doctor` says of it."
                )

    def refuse_idle_search(self, result: StudyResult) -> None:
        """Refuse a search that has injected nothing in this task and seed, although it has searched.

        Raises:
            UsageError: It has tested nothing.
        """
        is_searched = any(not one.violated_nominally for one in self._searches(result))
        at = (self.experiment.task.id, self.experiment.seed)
        landed = any(trial.landed for trial in result.trials if (trial.task, trial.seed) == at)
        if is_searched and not landed:
            raise self._idle("search", "was" if is_injectable(self.undisturbed.evaluation, self.plan) else "can be")

    def _searches(self, result: StudyResult) -> list[Certificate]:
        at = (self.experiment.task.id, self.experiment.seed)
        return [one for one in result.certificates if (one.task, one.seed) == at]

    def _idle(self, way: str, word: str) -> UsageError:
        return UsageError(
            f"chaosagent({way}=...): nothing {word} injected up to a budget of {self.plan.budget:g} in task "
            f"{self.experiment.task.id!r}, seed {self.experiment.seed}, so this tests nothing. Check that the target "
            "calls its doors, allow more, or name other tasks and operators."
        )

    def broken_in(self, trace: Trace, schedule: Schedule) -> Iterator[ReplayRecord]:
        """Yield a record of each contract that a run breaks."""
        for contract in self.plan.contracts:
            if is_broken(trace.verdict(contract.id)):
                yield self.record_of(trace, schedule, contract)

    def record_of(self, trace: Trace, schedule: Schedule, contract: Contract) -> ReplayRecord:
        """Return the record of a run that breaks a contract."""
        named = Named(self.plan.target_reference, self.plan.contract_specs, costs=self.plan.space.model)
        return record_of_run(self.experiment, self.undisturbed, trace, schedule, contract=contract, named=named)


@dataclass(frozen=True, slots=True)
class Violation:
    """A run under a random schedule that breaks a contract."""

    runs: Runs
    contract: Contract
    execution: Execution

    @property
    def cost(self) -> float:
        """Of what was injected."""
        return self.execution.evaluation.schedule.declared_cost(self.runs.plan.space.model)

    def reduced(self) -> ReplayRecord:
        """Return the record of a run that breaks the same contract with what few runs leave of its faults."""
        made = {self.execution.evaluation.schedule: self.execution}

        def rerun(schedule: Schedule) -> Evaluation:
            try:
                made[schedule] = run_schedule(self.runs.experiment, schedule)
            except ChaosAgentError as error:
                return failed_evaluation(schedule, str(error))  # so that schedule is no smaller violation
            return made[schedule].evaluation

        first, space = self.execution.evaluation, self.runs.plan.space
        schedule = minimise(first, self.contract.id, space, rerun, runs_max=REDUCING_RUNS_MAX).schedule
        return self.runs.record_of(made[schedule].trace, schedule, self.contract)


def smallest_of(violations: Iterable[Violation]) -> Iterator[ReplayRecord]:
    """Yield, for each contract, the record of its cheapest violation, reduced; raises what making these does."""
    cheapest: dict[str, Violation] = {}
    failed = None
    try:
        for one in violations:
            known = cheapest.get(one.contract.id)
            if known is None or one.cost < known.cost:
                cheapest[one.contract.id] = one
    except ChaosAgentError as error:  # after what was found until then
        failed = error
    yield from (one.reduced() for one in cheapest.values())
    if failed is not None:
        raise failed


def lands(schedule: Schedule, trace: Trace) -> bool:
    """Whether every injection has changed something."""
    landed = {each.injection for each in trace.landed if each.landing is Landing.LANDED}
    return landed.issuperset(map(str, schedule))


def never_reached(schedule: Schedule, every: Iterable[Runs]) -> str:
    """Say that a schedule tests nothing, and what could be meant."""
    called = sorted({step.interface for runs in every for step in runs.undisturbed.trace.steps if step.boundary})
    names = ", ".join(called) or "no interfaces"
    return f"{schedule} changes nothing in any run, so it tests nothing. Called are: {names}."


def runs_of(plan: Plan) -> Iterator[Runs]:
    """Yield the runs of each task and seed of a plan; those without faults are made."""
    for task in plan.tasks:
        for seed in plan.seeds:
            bare = Experiment(plan.target, task, plan.config, seed, plan.contracts, None, plan.run_limits)
            undisturbed = run_schedule(bare, EMPTY)
            yield Runs(plan, replace(bare, nominal=nominal_in(undisturbed.trace)), undisturbed)
