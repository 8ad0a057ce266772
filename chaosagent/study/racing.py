"""Racing: whether what breaks in one world of frozen answers breaks by the schedule, or by chance.

With its answers frozen a stochastic target is searched like any other, in one *world*: what a model answered once, it
answers again. A violation there may be a flake of that world, and a real weakness may happen to hold there. So nothing
is told to the searcher as a violation before a sequential test with fresh runs has confirmed it: it goes on past
flakes. And schedules that are clean in the first world are run in further ones, whose frozen answers are others, but
the same for all schedules. Of those that ask the models the same, do the same to the world and end alike only the
cheapest is run there: a *class*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from chaosagent.contracts.contract import Contract
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.confirmation import CleanRuns, Confirmation, FreshRuns
from chaosagent.study.evaluator import Experimental
from chaosagent.study.minimise import violates
from chaosagent.study.plan import Plan
from chaosagent.study.searcher import Standing
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
    """Schedules that ask the models alike, do the same to the world, and end alike.

    Attributes:
        usual: They ask what is asked without injections.
        schedule: The cheapest of them that was not tested.
        cost: Of it.
        runs: In how many worlds it was run.
        violations: In how many worlds that one violated.
        looks: In how many worlds it is to be looked at before others.
        dropped: How many of them were seen violating, and dropped.
        seen: Whether any of them was seen violating.
        confirmed: Whether a violation of any of them was confirmed.
        undecided: Whether the fresh runs of any of them have told nothing clear.
    """

    usual: bool
    schedule: Schedule = EMPTY
    cost: float = math.inf
    runs: int = 1
    violations: int = 0
    looks: int = 0
    dropped: int = 0
    seen: bool = False
    confirmed: bool = False
    undecided: bool = False

    @property
    def clean(self) -> bool:
        """Whether none of them was seen violating."""
        return not (self.seen or self.dropped or self.confirmed)

    @property
    def open(self) -> bool:
        """Whether a violation of one of them was neither confirmed nor shown to be chance."""
        return not self.confirmed and (self.undecided or (self.seen and not self.dropped))

    def tested(self, confirmation: Confirmation) -> None:
        """Take what fresh runs of one of them have told."""
        self.seen = True
        self.confirmed = self.confirmed or confirmation.confirmed
        self.undecided = self.undecided or confirmation.undecided
        self.dropped += not confirmation.confirmed

    def begin(self, schedule: Schedule, cost: float, *, violated: bool) -> None:
        """Run another schedule for the class from now on, which was run in the first world only."""
        self.schedule, self.cost, self.runs = schedule, cost, 1
        self.violations, self.looks = (1, LOOKS_MAX) if violated else (0, 0)
        self.seen = self.seen or violated

    def is_better(self, schedule: Schedule, cost: float) -> bool:
        """Whether a schedule is to be run for the class from now on; one that was run before is kept at equal cost."""
        return cost < self.cost - COST_TOLERANCE or (
            self.runs == 1 and (cost, schedule.text) < (self.cost, self.schedule.text)
        )


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

    def judged(self, evaluation: Evaluation, *, cost_max: float, world: int = 0) -> Evaluation:
        """Return what a searcher is to be told of a run: a violation that may be chance is none.

        Args:
            evaluation: Of a run.
            cost_max: What is dearer is told as it is.
            world: In which it was made; only runs in the first one make classes.
        """
        if evaluation.schedule == EMPTY:
            self._usual = self._usual if world else evaluation.asked
            rare = violates(evaluation, self._contract) and self._is_rare_anyway
            return without_violation(evaluation, self._contract) if rare else evaluation
        schedule = evaluation.effective or evaluation.schedule
        cost, own = self._cost(schedule), None if world else self._class_of(evaluation)
        violated = violates(evaluation, self._contract)
        if own is not None and schedule not in self._tested and own.is_better(schedule, cost):
            own.begin(schedule, cost, violated=violated)
        if not violated:
            return evaluation
        if cost > self._plan.budget + COST_TOLERANCE:
            believed = self._is_worth_reducing(schedule)
        else:
            believed = cost > cost_max + COST_TOLERANCE or self._is_believed(schedule, own)
        if believed and world:
            self._note_world(schedule, world)
        return evaluation if believed else without_violation(evaluation, self._contract)

    def _note_world(self, schedule: Schedule, world: int) -> None:
        """Note where a violation was seen, unless the first world shows it, too."""
        first = self._fresh.evaluator.known(self._at, schedule)
        if first is None or not violates(first, self._contract):
            self._worlds.setdefault(schedule, world)

    def _is_believed(self, schedule: Schedule, own: _Class | None) -> bool:
        """Whether a violation is confirmed.

        All schedules of a class get the same frozen answers, and so the same flakes: behind one that was dropped the
        others are not tested, but raced.
        """
        if own is not None and schedule not in self._tested:
            if own.dropped:
                return False
            while own.schedule == schedule and own.violations < SEEN_MIN and own.looks:
                self._look(own)
            if own.violations < SEEN_MIN:
                return False
        confirmation = self.confirmation_of(schedule)
        if own is not None:
            own.tested(confirmation)
        return confirmation.confirmed

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
        affordable = self._cost(evaluation.effective) <= self._plan.budget + COST_TOLERANCE
        if not (evaluation.asked and whole and affordable and verdict is not None):
            return None
        ended = (evaluation.ending, evaluation.success, verdict.verdict, verdict.unfair)
        key = (evaluation.asked, *ended, *_done_to_the_world(evaluation))
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
            one.violations, one.looks, one.seen = one.violations + 1, LOOKS_MAX, True
            self._worlds.setdefault(one.schedule, one.runs)
        one.runs += 1

    def at(self, schedule: Schedule) -> Experimental:
        """Return task and seed, in the world in which a confirmed violation was seen."""
        return self._world(self._worlds.get(schedule, 0))

    def clean_runs(self, cost_max: float) -> CleanRuns | None:
        """Return what is known of all that is cheaper than a cost, `None` while classes are open or none is clean.

        Args:
            cost_max: Of the counterexample; infinite when there is none.
        """
        cheaper = [one for one in self._classes.values() if one.cost < cost_max - COST_TOLERANCE]
        clean = [one.runs for one in cheaper if one.clean]
        if not clean or self.due(cost_max):
            return None
        undecided = sum(one.open for one in cheaper)
        dropped = sum(not (one.clean or one.open or one.confirmed) for one in cheaper)
        return CleanRuns(len(clean), min(clean), self._plan.rates.beta, dropped, undecided)

    def is_doubted(self, cost_max: float) -> bool:
        """Return whether anything cheaper than a cost was seen violating and not confirmed; see `clean_runs`."""
        classes = [one.cost for one in self._classes.values() if not (one.clean or one.confirmed)]
        cheapest = min([*classes, *(one.cost for one in self.doubtful)], default=math.inf)
        return self._nominal_flaky is True or cheapest < cost_max - COST_TOLERANCE

    def bounded(self, standing: Standing) -> Standing:
        """Return what a searcher knows without what it was told of violations about which nothing is clear."""
        tested = [self._cost(schedule) for schedule, told in self._tested.items() if told.undecided]
        seen = [one.cost for one in self._classes.values() if one.open]
        return replace(standing, lower_bound=min([standing.lower_bound, *tested, *seen]))

    def _tried(self, one: _Class) -> list[Evaluation]:
        """Test a class that violated in some world; return the run in that world if it is confirmed."""
        confirmation = self.confirmation_of(one.schedule)
        one.tested(confirmation)
        if not confirmation.confirmed:
            return []
        return [self._fresh.evaluator.evaluate(self.at(one.schedule), one.schedule)]

    def _open(self, cost_max: float, *, at_last: bool) -> list[_Class]:
        """Return the classes that are to be run in another world, or tested."""
        return [
            one
            for one in self._classes.values()
            if one.cost < cost_max - COST_TOLERANCE
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


def _done_to_the_world(evaluation: Evaluation) -> tuple[object, ...]:
    """Return what tells apart what runs did to the world.

    What a fault that acts on more than reading has done there is recorded nowhere (a response lost before or after the
    commit), so such a fault stands for itself.
    """
    written = {crossing.place.interface for crossing in evaluation.crossings if not crossing.read_only}
    reading = {crossing.place.interface for crossing in evaluation.crossings} - written
    acting = tuple(str(one) for one in evaluation.effective if one.hook.interface not in reading)
    crossings = tuple((crossing.place, crossing.request, crossing.response) for crossing in evaluation.crossings)
    return acting, crossings


def without_violation(evaluation: Evaluation, contract: str) -> Evaluation:
    """Return a run as if a contract had held, as close to a violation as can be."""
    verdicts = tuple(
        verdict._replace(verdict=Verdict.HOLDS, margin=max(0.0, verdict.margin), violation=None)
        if verdict.contract == contract
        else verdict
        for verdict in evaluation.verdicts
    )
    return replace(evaluation, verdicts=verdicts)
