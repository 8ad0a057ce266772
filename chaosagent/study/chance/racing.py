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
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from chaosagent.contracts.contract import Contract
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.chance.confirmation import CleanRuns, Confirmation
from chaosagent.study.chance.equivalence_class import LOOKS_MAX, EquivalenceClass, world_effects_key
from chaosagent.study.chance.fresh_runs import FreshRuns
from chaosagent.study.chance.nominal_share import NominalShare, nominal_share
from chaosagent.study.chance.worlds import WORLDS_COMPARED, WORLDS_SEARCHED_MAX, CallSites, UnvisitedSites
from chaosagent.study.plan import ABREAST, Plan
from chaosagent.study.searcher import SearchProgress
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import Severity, Verdict

SCREENED_MIN = 2
"""A schedule above the budget is reduced when it violates in so many further worlds before it holds in as many.

What seldom violates is found sooner from below."""

SEEN_MIN = 2
"""In how many worlds a class has to violate to be tested at once: to look into one costs less than fresh runs."""

RACE_SHARE = 0.5
"""Runs in further worlds for each trial, while the first world is not searched to its end."""

DROPPED_MAX = 2
"""After how many dropped schedules a class is raced no more."""

BETA_OF_RACES = 0.5
"""Part of `beta` for never seeing a weakness violate in all worlds; the rest is for dropping one that was seen."""


class UnconfirmedViolation(NamedTuple):
    """A schedule that was seen violating once, and was not confirmed.

    Attributes:
        schedule: What was injected.
        cost: Of the schedule.
        confirmation: What fresh runs of it told.
    """

    schedule: Schedule
    cost: float
    confirmation: Confirmation


class Racer:
    """Judges the violations of one search, and looks for those that its world hides.

    Args:
        plan: Of the study.
        at: Task and seed, and the world that is searched first.
        contract: What is to be broken.
        fresh: Makes fresh runs.
    """

    def __init__(self, plan: Plan, at: TaskSeed, contract: Contract, fresh: FreshRuns) -> None:
        self._plan, self._at, self._contract, self._fresh = plan, at, contract.id, fresh
        hard = sum(one.severity is Severity.HARD for one in plan.contracts)
        self._alpha = plan.rates.alpha / max(1, hard * len(plan.tasks) * len(plan.seeds))
        self._tested: dict[Schedule, Confirmation] = {}
        self._worth: dict[Schedule, bool] = {}
        self._classes: dict[tuple[object, ...], EquivalenceClass] = {}
        self._usual = b""
        self._nominal_flaky: bool | None = None
        self._worlds: dict[Schedule, int] = {}
        self._missed_max = BETA_OF_RACES * plan.rates.beta
        self.worlds_max = math.ceil(math.log(self._missed_max) / math.log(1.0 - plan.rates.difference))
        self.runs = 0
        self._spots = CallSites(plan.space, plan.budget)
        self._searched = [at.world]
        self._sought: Counter[tuple[str, str]] = Counter()

    # ------------------------------------------------------------------ judging

    def judged(self, evaluation: Evaluation, *, cost_max: float, world: int | None = None) -> Evaluation:
        """Return a run as a searcher gets it: without a violation that chance may explain.

        Args:
            evaluation: Of a run.
            cost_max: What is dearer is told as it is.
            world: In which it was made, the first one by default; only runs in that make classes.
        """
        is_first = world is None or world == self._at.world
        if is_first or world in self._searched:
            self._spots.show(evaluation)
        else:
            self._spots.meet(evaluation, world)
        if evaluation.schedule == EMPTY:
            self._usual = evaluation.asked if is_first else self._usual
            rare = violates(evaluation, self._contract) and self._is_rare_anyway
            return without_violation(evaluation, self._contract) if rare else evaluation
        schedule = evaluation.effective or evaluation.schedule
        cost, own = self._cost(schedule), self._class_of(evaluation) if is_first else None
        violated = violates(evaluation, self._contract)
        if own is not None and schedule not in self._tested and own.is_better(schedule, cost):
            own.begin(schedule, cost, violated=violated)
        if not violated:
            return evaluation
        if cost > self._plan.budget + COST_TOLERANCE:
            believed = self._is_worth_reducing(schedule)
        else:
            believed = cost > cost_max + COST_TOLERANCE or self._is_believed(schedule, own)
        if believed and world is not None and not is_first:
            self._note_world(schedule, world)
        return evaluation if believed else without_violation(evaluation, self._contract)

    def _note_world(self, schedule: Schedule, world: int) -> None:
        """Note where a violation was seen, unless the first world shows it, too."""
        first = self._fresh.evaluator.known(self._at, schedule)
        if first is None or not violates(first, self._contract):
            self._worlds.setdefault(schedule, world)

    def _is_believed(self, schedule: Schedule, own: EquivalenceClass | None) -> bool:
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
            rates = self._plan.rates
            rates = replace(
                rates, alpha=self._alpha * 6.0 / (math.pi * number) ** 2, beta=rates.beta - self._missed_max
            )
            known = self._tested[schedule] = self._fresh.confirm(self._at, schedule, self._contract, rates)
            for run in self._fresh.made(self._at, schedule):
                self._spots.meet(run, None)
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
    def doubtful(self) -> tuple[UnconfirmedViolation, ...]:
        """What was seen violating once, and was not confirmed, cheapest first."""
        found = [
            UnconfirmedViolation(schedule, self._cost(schedule), confirmation)
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

    def _class_of(self, evaluation: Evaluation) -> EquivalenceClass | None:
        """Return the class of a run in the first world; `None` for one that is not raced."""
        verdict = evaluation.verdict(self._contract)
        whole = evaluation.status is Status.OK and evaluation.effective == evaluation.schedule
        affordable = self._cost(evaluation.effective) <= self._plan.budget + COST_TOLERANCE
        if not (evaluation.asked and whole and affordable and verdict is not None):
            return None
        ended = (evaluation.ending, evaluation.success, verdict.verdict, verdict.unfair)
        key = (evaluation.asked, *ended, *world_effects_key(evaluation))
        usual = evaluation.asked == self._usual
        flaky = usual and self._nominal_flaky is True and violates(evaluation, self._contract)
        return self._classes.setdefault(key, EquivalenceClass(usual=usual, dropped=int(flaky)))

    def due(self, cost_max: float, *, at_last: bool = True) -> bool:
        """Whether a class that is cheaper than a cost is to be run in another world, or tested.

        Args:
            cost_max: Only what is cheaper counts.
            at_last: The first world has been searched to its end: now those count, too, that ask what is asked without
                injections, and those that have violated in one of all worlds are tested. And for a place that only
                fresh runs have reached a world is sought that has it.
        """
        return bool(self._open(cost_max, at_last=at_last)) or (at_last and self._to_seek(cost_max) is not None)

    def race(self, cost_max: float, *, at_last: bool = True) -> list[Evaluation]:
        """Run some classes in further worlds, and test what violates there.

        Args:
            cost_max: Only what is cheaper is run.
            at_last: See `due`.

        Returns:
            Confirmed violations, each as it was in its world; see `at`.
        """
        open_ones = self._open(cost_max, at_last=at_last)
        if not open_ones and (place := self._to_seek(cost_max)) is not None:
            self._seek(place)
        open_ones.sort(key=lambda one: (one.usual, not one.looks, one.runs, one.cost, one.schedule.text))
        chosen = open_ones[:ABREAST]
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

    def _look(self, one: EquivalenceClass) -> None:
        """Run a class in the next world."""
        one.looks = max(0, one.looks - 1)
        evaluation = self._in_world(one.schedule, one.runs)
        if violates(evaluation, self._contract) and evaluation.effective == one.schedule:
            one.violations, one.looks, one.seen = one.violations + 1, LOOKS_MAX, True
            self._worlds.setdefault(one.schedule, self._world(one.runs).world)
        one.runs += 1

    def at(self, schedule: Schedule) -> TaskSeed:
        """Return task and seed, in the world in which a confirmed violation was seen."""
        return self._at._replace(world=self._worlds.get(schedule, self._at.world))

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
        return CleanRuns(len(clean), min(clean), self._missed_max, dropped, undecided)

    def is_doubted(self, cost_max: float) -> bool:
        """Return whether anything cheaper than a cost was seen violating and not confirmed; see `clean_runs`."""
        classes = [one.cost for one in self._classes.values() if not (one.clean or one.confirmed)]
        cheapest = min([*classes, *(one.cost for one in self.doubtful)], default=math.inf)
        return self._nominal_flaky is True or cheapest < cost_max - COST_TOLERANCE

    def bounded(self, progress: SearchProgress, cost_max: float = math.inf) -> SearchProgress:
        """Return what a searcher knows without that about which nothing is clear.

        That are violations that were neither confirmed nor dropped, classes that were not run in all worlds yet, and
        places that no world that was searched has.

        Args:
            progress: What it knows by itself.
            cost_max: Only what is cheaper counts.
        """
        tested = [self._cost(schedule) for schedule, told in self._tested.items() if told.undecided]
        seen = [one.cost for one in self._classes.values() if one.open]
        raced = [one.cost for one in self._open(math.inf, at_last=True)]
        unseen = [one.cost for one in self.unseen[:1]]
        unclear = [cost for cost in (*tested, *seen, *raced, *unseen) if cost < cost_max - COST_TOLERANCE]
        return replace(progress, lower_bound=min([progress.lower_bound, *unclear]))

    @property
    def unseen(self) -> tuple[UnvisitedSites, ...]:
        """Where other draws of the answers went, and no world that was searched did; the cheapest first."""
        return self._spots.unseen

    @property
    def worlds_searched(self) -> int:
        """How many worlds were searched, with the one that is."""
        return len(self._searched)

    def next_world(self, cost_max: float) -> int | None:
        """Return a world to be searched next, as it has a place that none has that was; `None` when none is to be.

        Args:
            cost_max: Only places are of interest at which something cheaper can be injected.
        """
        if len(self._searched) >= WORLDS_SEARCHED_MAX:
            return None
        known = [one.world for one in self.unseen if one.cost < cost_max - COST_TOLERANCE and one.world is not None]
        return next((world for world in known if world not in self._searched), None)

    def _to_seek(self, cost_max: float) -> UnvisitedSites | None:
        """Return a place that a world is to be sought for; `None` while one of another place is to be searched."""
        if len(self._searched) >= WORLDS_SEARCHED_MAX or self.next_world(cost_max) is not None:
            return None
        unmet = (one for one in self.unseen if one.cost < cost_max - COST_TOLERANCE and one.world is None)
        return next((one for one in unmet if 1 + self._sought[one.hook, one.operation] < self.worlds_max), None)

    def _seek(self, place: UnvisitedSites) -> None:
        """Run what leads to a place in a few more worlds."""
        first = 1 + self._sought[place.hook, place.operation]
        numbers = range(first, min(first + ABREAST, self.worlds_max))
        for number in numbers:
            self._fresh.evaluator.request(self._world(number), place.route)
        for number in numbers:
            self._in_world(place.route, number)
        self._sought[place.hook, place.operation] += len(numbers)

    def search_world(self, world: int) -> None:
        """Expect runs of another world that the searcher gets."""
        self._searched.append(world)

    def broken_anyway(self, *, draw: bool) -> NominalShare | None:
        """Return how often the contract breaks without injections, `None` when it never was seen to.

        Args:
            draw: Make as many fresh runs as tell something, if there are not.
        """
        worlds = [self._world(number) for number in range(max(self.worlds_max, WORLDS_COMPARED))]
        return nominal_share(self._fresh, self._at, worlds, self._contract, draw=draw)

    def _tried(self, one: EquivalenceClass) -> list[Evaluation]:
        """Test a class that violated in some world; return the run in that world if it is confirmed."""
        confirmation = self.confirmation_of(one.schedule)
        one.tested(confirmation)
        if not confirmation.confirmed:
            return []
        return [self._fresh.evaluator.evaluate(self.at(one.schedule), one.schedule)]

    def _open(self, cost_max: float, *, at_last: bool) -> list[EquivalenceClass]:
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

    def _world(self, number: int) -> TaskSeed:
        """Return the world of a number among those in which schedules are run, of which 0 is the first one."""
        first = self._at.world
        return self._at._replace(world={0: first, first: 0}.get(number, number))

    def _in_world(self, schedule: Schedule, world: int) -> Evaluation:
        self.runs += 1
        at, evaluator = self._world(world), self._fresh.evaluator
        self._spots.meet(evaluator.evaluate(at, EMPTY), at.world)  # by which all of that world is judged
        evaluation = evaluator.evaluate(at, schedule)
        self._spots.meet(evaluation, at.world)
        return evaluation

    def _cost(self, schedule: Schedule) -> float:
        return schedule.declared_cost(self._plan.space.model)


def without_violation(evaluation: Evaluation, contract: str) -> Evaluation:
    """Return a run as if a contract had held, as close to a violation as can be."""
    verdicts = tuple(
        verdict._replace(verdict=Verdict.HOLDS, margin=max(0.0, verdict.margin), violation=None)
        if verdict.contract == contract
        else verdict
        for verdict in evaluation.verdicts
    )
    return replace(evaluation, verdicts=verdicts)
