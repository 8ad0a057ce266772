"""Racing: whether what breaks in one world of frozen answers breaks by the schedule, or by chance.

With its answers frozen a stochastic target is searched like any other, in one *world*: what a model answered once, it
answers again. A violation there may be a flake of that world, and a real weakness may happen to hold there. So nothing
is told to the searcher as a violation before a sequential test with fresh runs has confirmed it: it goes on past
flakes. And schedules that are clean in the first world are run in further ones, whose frozen answers are others, but
the same for all schedules. Of those that ask the models the same and end alike only the cheapest is run there: a
*class*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from chaosagent.contracts.contract import Contract
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.operator import COST_DECIMALS
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.statistics.sequential import EvidenceOfLess
from chaosagent.study.confirmation import CleanRuns, Confirmation, FreshRuns
from chaosagent.study.evaluator import Experimental
from chaosagent.study.minimise import violates
from chaosagent.study.plan import Plan
from chaosagent.vocabulary import Severity, Verdict

SCREENED_MIN = 3
"""In how many worlds a schedule that is too dear to be reported has to violate, to be worth reducing."""

DROPPED_MAX = 2
"""After how many dropped schedules a class is raced no more."""


class Doubtful(NamedTuple):
    """A schedule that was seen violating once, and was not confirmed.

    Attributes:
        schedule: What was injected.
        cost: Of the schedule.
        confirmation: What fresh runs of it told.
    """

    schedule: Schedule
    cost: float
    confirmation: Confirmation


@dataclass(slots=True)
class _Class:
    """Schedules that ask the models alike and end alike.

    Attributes:
        usual: They ask what is asked without injections.
        schedule: The cheapest of them that was not tested.
        cost: Of it.
        runs: In how many worlds it was run.
        dropped: How many of them were seen violating, and dropped.
    """

    usual: bool
    schedule: Schedule = EMPTY
    cost: float = math.inf
    runs: int = 1
    dropped: int = 0


class Racer:
    """Judges the violations of one search, and looks for those that its world hides.

    Args:
        plan: Of the study.
        at: Task and seed.
        contract: What is to be broken.
        fresh: Makes fresh runs.
    """

    def __init__(self, plan: Plan, at: Experimental, contract: Contract, fresh: FreshRuns) -> None:
        self._plan, self._at, self._contract, self._fresh = plan, at, contract.id, fresh
        hard = sum(one.severity is Severity.HARD for one in plan.contracts)
        self._alpha = plan.rates.alpha / max(1, hard * len(plan.tasks) * len(plan.seeds))
        self._tested: dict[Schedule, Confirmation] = {}
        self._worth: dict[Schedule, bool] = {}
        self._classes: dict[tuple[object, ...], _Class] = {}
        self._usual = b""
        self._nominal_flaky: bool | None = None
        self._worlds: dict[Schedule, int] = {}
        rates = plan.rates
        self.worlds_max = math.ceil(math.log(rates.beta) / math.log(1.0 - rates.difference))
        self.runs = 0

    # ------------------------------------------------------------------ judging

    def judged(self, evaluation: Evaluation, *, cost_max: float) -> Evaluation:
        """Return what a searcher is to be told of a run: a violation that may be chance is none.

        Args:
            evaluation: Of a run in the first world.
            cost_max: What is dearer is told as it is.
        """
        if evaluation.schedule == EMPTY:
            self._usual = evaluation.asked
            rare = violates(evaluation, self._contract) and self._is_rare_anyway
            return without_violation(evaluation, self._contract) if rare else evaluation
        schedule = evaluation.effective or evaluation.schedule
        cost, own = self._cost(schedule), self._class_of(evaluation)
        believed = True
        if violates(evaluation, self._contract):
            if cost > self._plan.budget + EQUAL:
                believed = self._is_worth_reducing(schedule)
            elif cost <= cost_max + EQUAL:
                believed = self._is_believed(schedule, own)
        if own is not None and schedule not in self._tested and (cost, schedule.text) < (own.cost, own.schedule.text):
            own.schedule, own.cost = schedule, cost
        return evaluation if believed else without_violation(evaluation, self._contract)

    def _is_believed(self, schedule: Schedule, own: _Class | None) -> bool:
        """Whether a violation is confirmed.

        All schedules that ask alike get the same frozen answers, and so the same flakes: behind one that was dropped
        the others are not tested, but raced.
        """
        if schedule not in self._tested and own is not None and own.dropped:
            return False
        confirmed = self.confirmation_of(schedule).confirmed
        if own is not None and not confirmed:
            own.dropped += 1
        return confirmed

    def confirmation_of(self, schedule: Schedule) -> Confirmation:
        """Return what fresh runs of a schedule tell; they are made once.

        Each further schedule that is tested gets a smaller part of the error that is allowed: 6 α / (π k)² for the
        k-th, which adds up to α.
        """
        known = self._tested.get(schedule)
        if known is None:
            number = len(self._tested) + 1
            known = self._tested[schedule] = self._fresh.confirm(
                self._at,
                schedule,
                self._contract,
                self._plan.rates,
                alpha=self._alpha * 6.0 / (math.pi * number) ** 2,
                batch=self._plan.lookahead,
            )
        return known

    def instability_of(self, schedule: Schedule) -> float:
        """Return how likely two fresh runs of a tested schedule differ; 0 for one that was not tested."""
        known = self._tested.get(schedule)
        return 0.0 if known is None else known.instability

    @property
    def _is_rare_anyway(self) -> bool:
        """Whether a violation without injections is a flake of the first world, from fresh runs."""
        if self._nominal_flaky is None:
            self._nominal_flaky = self._fresh.is_rare(self._at, self._contract, self._plan.rates)
        return self._nominal_flaky

    @property
    def doubtful(self) -> tuple[Doubtful, ...]:
        """What was seen violating once, and was not confirmed, cheapest first."""
        found = [
            Doubtful(schedule, self._cost(schedule), confirmation)
            for schedule, confirmation in self._tested.items()
            if not confirmation.confirmed
        ]
        return tuple(sorted(found, key=lambda one: (one.cost, one.schedule.text)))

    def _is_worth_reducing(self, schedule: Schedule) -> bool:
        """Whether a schedule violates in several worlds before that is as good as excluded."""
        known = self._worth.get(schedule)
        if known is not None:
            return known
        rarer, violations = EvidenceOfLess(self._plan.rates.difference), 1
        enough = math.log(1 / self._plan.rates.beta)
        for world in range(1, self.worlds_max + 1):
            violated = violates(self._in_world(schedule, world), self._contract)
            violations += violated
            rarer.add(violated)
            if violations >= SCREENED_MIN or rarer.log >= enough:
                break
        self._worth[schedule] = violations >= SCREENED_MIN
        return self._worth[schedule]

    # ------------------------------------------------------------------ further worlds

    def _class_of(self, evaluation: Evaluation) -> _Class | None:
        """Return the class of a run in the first world; `None` for one that is not raced."""
        verdict = evaluation.verdict(self._contract)
        whole = evaluation.status is Status.OK and evaluation.effective == evaluation.schedule
        affordable = self._cost(evaluation.effective) <= self._plan.budget + EQUAL
        if not (evaluation.asked and whole and affordable and verdict is not None):
            return None
        key = (evaluation.asked, evaluation.ending, evaluation.success, verdict.verdict, verdict.unfair)
        usual = evaluation.asked == self._usual
        flaky = usual and self._nominal_flaky is True and violates(evaluation, self._contract)
        return self._classes.setdefault(key, _Class(usual=usual, dropped=int(flaky)))

    def due(self, cost_max: float, *, usual_too: bool = True) -> bool:
        """Whether a class that is cheaper than a cost has not been run in all worlds yet.

        Args:
            cost_max: Only what is cheaper counts.
            usual_too: Those that ask what is asked without injections count, too.
        """
        return any(self._is_open(one, cost_max) and (usual_too or not one.usual) for one in self._classes.values())

    def race(self, cost_max: float) -> list[Evaluation]:
        """Run some classes in further worlds, and test what violates there.

        Args:
            cost_max: Only what is cheaper is run.

        Returns:
            Confirmed violations, each as it was in its world; see `at`.
        """
        open_ones = [one for one in self._classes.values() if self._is_open(one, cost_max)]
        open_ones.sort(key=lambda one: (one.usual, one.runs, one.cost, one.schedule.text))
        chosen = open_ones[: self._plan.lookahead]
        for one in chosen:
            self._fresh.evaluator.request(self._world(one.runs), one.schedule)
        confirmed: list[Evaluation] = []
        for one in chosen:
            evaluation = self._in_world(one.schedule, one.runs)
            if violates(evaluation, self._contract):
                confirmed.extend(self._tried(one, evaluation))
            one.runs += 1
        return confirmed

    def at(self, schedule: Schedule) -> Experimental:
        """Return task and seed, in the world in which a confirmed violation was seen."""
        return self._world(self._worlds.get(schedule, 0))

    def clean_runs(self, cost_max: float) -> CleanRuns | None:
        """Return what is known of everything cheaper than a cost, `None` while classes are open or when there is none.

        Args:
            cost_max: Of the counterexample; infinite when there is none.
        """
        cheaper = [one for one in self._classes.values() if one.cost < cost_max - EQUAL]
        if not cheaper or self.due(cost_max):
            return None
        clean = [one.runs for one in cheaper if not one.dropped]
        return CleanRuns(len(clean), min(clean, default=0), self._plan.rates.beta, len(cheaper) - len(clean))

    def _tried(self, one: _Class, evaluation: Evaluation) -> list[Evaluation]:
        """Test what violated in a further world."""
        schedule, world = evaluation.effective, one.runs
        if schedule != one.schedule:  # something did not land there
            evaluation = self._in_world(schedule, world)
            if schedule == EMPTY or evaluation.effective != schedule or not violates(evaluation, self._contract):
                return []
        if not self.confirmation_of(schedule).confirmed:
            one.dropped += 1
            return []
        self._worlds.setdefault(schedule, world)
        return [evaluation]

    def _is_open(self, one: _Class, cost_max: float) -> bool:
        if one.dropped >= DROPPED_MAX or one.schedule in self._tested:
            return False
        return one.runs < self.worlds_max and one.cost < cost_max - EQUAL

    def _world(self, number: int) -> Experimental:
        return self._at._replace(world=number)

    def _in_world(self, schedule: Schedule, world: int) -> Evaluation:
        self.runs += 1
        self._fresh.evaluator.evaluate(self._world(world), EMPTY)  # by which all of that world is judged
        return self._fresh.evaluator.evaluate(self._world(world), schedule)

    def _cost(self, schedule: Schedule) -> float:
        return schedule.declared_cost(self._plan.space.model)


EQUAL = 10**-COST_DECIMALS / 2


def without_violation(evaluation: Evaluation, contract: str) -> Evaluation:
    """Return a run as if a contract had held, as close to a violation as can be."""
    verdicts = tuple(
        verdict._replace(verdict=Verdict.HOLDS, margin=max(0.0, verdict.margin), violation=None)
        if verdict.contract == contract
        else verdict
        for verdict in evaluation.verdicts
    )
    return replace(evaluation, verdicts=verdicts)
