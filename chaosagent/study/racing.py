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
from chaosagent.study.confirmation import CleanRuns, Confirmation, FreshRuns
from chaosagent.study.evaluator import Experimental
from chaosagent.study.minimise import violates
from chaosagent.study.plan import Plan
from chaosagent.vocabulary import Severity, Verdict

SCREENED_MIN = 2
"""A schedule above the budget is reduced when it violates in so many further worlds before it holds in as many.

What seldom violates is found sooner from below."""

SEEN_MIN = 2
"""In how many worlds a class has to violate to be tested at once: to look into one costs less than fresh runs."""

LOOKS_MAX = 5
"""In how many further worlds a class is looked at before others, once it has violated in one."""

RACE_SHARE = 0.5
"""Runs in further worlds for each trial, while the first world is not searched to its end."""

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
        violations: In how many worlds that one violated.
        looks: In how many worlds it is to be looked at before others.
        dropped: How many of them were seen violating, and dropped.
    """

    usual: bool
    schedule: Schedule = EMPTY
    cost: float = math.inf
    runs: int = 1
    violations: int = 0
    looks: int = 0
    dropped: int = 0

    def begin(self, schedule: Schedule, cost: float, *, violated: bool) -> None:
        """Run another schedule for the class from now on, which was run in the first world only."""
        self.schedule, self.cost, self.runs = schedule, cost, 1
        self.violations, self.looks = (1, LOOKS_MAX) if violated else (0, 0)

    def is_better(self, schedule: Schedule, cost: float) -> bool:
        """Whether a schedule is to be run for the class from now on; one that was run before is kept at equal cost."""
        return cost < self.cost - EQUAL or (self.runs == 1 and (cost, schedule.text) < (self.cost, self.schedule.text))


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
        violated = violates(evaluation, self._contract)
        if own is not None and schedule not in self._tested and own.is_better(schedule, cost):
            own.begin(schedule, cost, violated=violated)
        if not violated:
            return evaluation
        if cost > self._plan.budget + EQUAL:
            believed = self._is_worth_reducing(schedule)
        else:
            believed = cost > cost_max + EQUAL or self._is_believed(schedule, own)
        return evaluation if believed else without_violation(evaluation, self._contract)

    def _is_believed(self, schedule: Schedule, own: _Class | None) -> bool:
        """Whether a violation is confirmed.

        All schedules that ask alike get the same frozen answers, and so the same flakes: behind one that was dropped
        the others are not tested, but raced.
        """
        if own is not None and schedule not in self._tested:
            if own.dropped:
                return False
            while own.schedule == schedule and own.violations < SEEN_MIN and own.looks:
                self._look(own)
            if own.violations < SEEN_MIN:
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
            rates = replace(self._plan.rates, alpha=self._alpha * 6.0 / (math.pi * number) ** 2)
            known = self._tested[schedule] = self._fresh.confirm(self._at, schedule, self._contract, rates)
        return known

    def instability_of(self, schedule: Schedule) -> float:
        """Return how likely two fresh runs of a tested schedule differ; 0 for one that was not tested."""
        known = self._tested.get(schedule)
        return 0.0 if known is None else known.instability

    @property
    def _is_rare_anyway(self) -> bool:
        """Whether a violation without injections is a flake of the first world, from fresh runs."""
        if self._nominal_flaky is None:
            self._nominal_flaky = self._fresh.mostly_holds(self._at, self._contract)
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
        violations = held = 0
        while max(violations, held) < SCREENED_MIN:
            violated = violates(self._in_world(schedule, violations + held + 1), self._contract)
            violations, held = violations + violated, held + (not violated)
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

    def due(self, cost_max: float, *, at_last: bool = True) -> bool:
        """Whether a class that is cheaper than a cost is to be run in another world, or tested.

        Args:
            cost_max: Only what is cheaper counts.
            at_last: The first world has been searched to its end: now those count, too, that ask what is asked without
                injections, and those that have violated in one of all worlds are tested.
        """
        return bool(self._open(cost_max, at_last=at_last))

    def race(self, cost_max: float, *, at_last: bool = True) -> list[Evaluation]:
        """Run some classes in further worlds, and test what violates there.

        Args:
            cost_max: Only what is cheaper is run.
            at_last: See `due`.

        Returns:
            Confirmed violations, each as it was in its world; see `at`.
        """
        open_ones = self._open(cost_max, at_last=at_last)
        open_ones.sort(key=lambda one: (one.usual, not one.looks, one.runs, one.cost, one.schedule.text))
        chosen = open_ones[: self._plan.lookahead]
        for one in chosen:
            if one.runs < self.worlds_max:
                self._fresh.evaluator.request(self._world(one.runs), one.schedule)
        confirmed: list[Evaluation] = []
        for one in chosen:
            if one.runs < self.worlds_max:
                self._look(one)
            if one.violations >= SEEN_MIN or (at_last and one.violations and one.runs >= self.worlds_max):
                confirmed.extend(self._tried(one))
        return confirmed

    def _look(self, one: _Class) -> None:
        """Run a class in the next world."""
        one.looks = max(0, one.looks - 1)
        evaluation = self._in_world(one.schedule, one.runs)
        if violates(evaluation, self._contract) and evaluation.effective == one.schedule:
            one.violations, one.looks = one.violations + 1, LOOKS_MAX
            self._worlds.setdefault(one.schedule, one.runs)
        one.runs += 1

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

    def _tried(self, one: _Class) -> list[Evaluation]:
        """Test a class that violated in some world; return the run in that world if it is confirmed."""
        if not self.confirmation_of(one.schedule).confirmed:
            one.dropped += 1
            return []
        return [self._fresh.evaluator.evaluate(self.at(one.schedule), one.schedule)]

    def _open(self, cost_max: float, *, at_last: bool) -> list[_Class]:
        """Return the classes that are to be run in another world, or tested."""
        return [
            one
            for one in self._classes.values()
            if one.cost < cost_max - EQUAL
            and one.dropped < DROPPED_MAX
            and one.schedule not in self._tested
            and (at_last or not one.usual)
            and (one.runs < self.worlds_max or (at_last and one.violations))
        ]

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
