"""What executed runs have shown so far: which injections are possible where, which of them land, what is violated.

Searchers that draw injections share it. It only grows by what they are told, in that order.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.operator import COST_DECIMALS, COST_TOLERANCE
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.searchers.seen.ceiling import Ceiling
from chaosagent.searchers.seen.points import Candidate, expander_of
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimise import violates
from chaosagent.vocabulary import Verdict

MISSES_MAX = 3
"""How often an injection that never landed is tried at a place that the run did reach."""

PASSED_OVER = 0.9
"""How often a futile injection is passed over where another can be drawn: with others it may matter all the same."""


class Arm(NamedTuple):
    """An operator on an interface, whatever its parameters and whichever call.

    Attributes:
        operator: Its name.
        interface: Such as `"service:crm"`.
    """

    operator: str
    interface: str


@dataclass(slots=True)
class Site:
    """A place at which something was seen to be possible.

    Attributes:
        place: Where.
        position: When it was asked there, among everything that acted in the run that `needs` stands for.
        needs: The landed injections before it, of the cheapest run that reached it; empty when the run without
            injections does.
        needs_cost: What they cost.
        candidates: What can be done there, one of each known outcome, in the order in which it was shown.
        ways: What has landed before it in some run that reached it.
    """

    place: Place
    position: int
    needs: Schedule
    needs_cost: float
    candidates: list[Candidate] = field(default_factory=list)
    ways: set[Injection] = field(default_factory=set)


class Pool:
    """Collects what the runs of one search show.

    Injections that are known to change nothing, or to do the same as a cheaper one at the same place, are left out
    (rule R2), as are those dearer than the budget.

    Args:
        problem: What is searched.

    Attributes:
        candidates: Everything that was seen to be possible, in the order in which it was shown.
        sites: The same by place.
        arms: The same by operator and interface.
        cheapest: What the cheapest of them costs; infinite when there is none.
        known: The violations known.
        futile: What has landed alone and led nowhere: the run came back to a state that the run without injections goes
            through, or ended early without coming to a place that is new.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._expander = expander_of(problem.space, problem.seed, kinds_matter=problem.kinds_matter)
        self._costs: dict[Injection, float] = {}
        self._shown: set[int] = set()
        self._landed: set[Injection] = set()
        self._has_needs = False
        self._misses: Counter[Injection] = Counter()
        self.candidates: list[Candidate] = []
        self.sites: dict[Place, Site] = {}
        self.arms: dict[Arm, list[Candidate]] = {}
        self.cheapest = float("inf")
        self.known = Ceiling(problem)
        self.futile: set[Injection] = set()
        self._usual: set[Place] = set()
        self._usual_marks: set[tuple[bytes, bytes]] = set()

    def learn(self, evaluation: Evaluation) -> tuple[Candidate, ...]:
        """Take over what a run has shown, once for each run.

        Returns:
            What was not known to be possible before.
        """
        if evaluation.status is Status.ERROR:
            return ()
        self._take_landing(evaluation)
        self._take_futile(evaluation)
        self.known.learn(evaluation)
        new = self._expander.unseen_parts(evaluation, self._shown)
        self._shown.update(part.content for part in new)
        fresh = []
        for candidate in self._expander.merged(new).candidates if new else ():
            if candidate.cost > self._problem.budget + COST_TOLERANCE:
                break  # they come in the order of cost
            if candidate.injection not in self._costs:
                self._costs[candidate.injection] = candidate.cost
                fresh.append(candidate)
        if fresh:
            self.cheapest = min(self.cheapest, fresh[0].cost)
            self._take_candidates(evaluation, fresh)
        self._take_needs(evaluation)
        return tuple(fresh)

    # ------------------------------------------------------------------ asking

    def __contains__(self, injection: Injection) -> bool:
        return injection in self._costs

    def cost(self, injection: Injection) -> float:
        """Return what an injection costs when it lands."""
        known = self._costs.get(injection)
        return self._problem.space.model.of(injection.operator) if known is None else known

    def cost_of(self, injections: Iterable[Injection]) -> float:
        """Return what several injections cost together."""
        return round(sum(self.cost(injection) for injection in injections), COST_DECIMALS)

    @property
    def ceiling(self) -> float:
        """The most that a schedule may cost to be of use: the budget, or less than the cheapest violation known."""
        return self.known.cost

    def is_known(self, injections: Iterable[Injection]) -> bool:
        """Whether a schedule holds a violation that is known already."""
        return self.known.holds_known(injections)

    def is_idle(self, injection: Injection) -> bool:
        """Whether an injection was tried several times at a place that was reached, and never landed."""
        return self._misses.get(injection, 0) >= MISSES_MAX and injection not in self._landed

    def is_passed_over(self, injection: Injection, rng: random.Random) -> bool:
        """Draw whether an injection had better be left to others: mostly when it is futile, never when it is not."""
        return injection in self.futile and rng.random() < PASSED_OVER

    # ------------------------------------------------------------------ learning

    def _take_landing(self, evaluation: Evaluation) -> None:
        landed = evaluation.effective
        self._landed.update(landed)
        if len(landed) < len(evaluation.schedule):
            reached = {crossing.place for crossing in evaluation.crossings}
            for injection in evaluation.schedule:
                if injection not in self._landed and place_of(injection) in reached:
                    self._misses[injection] += 1

    def _take_futile(self, evaluation: Evaluation) -> None:
        monitor, landed = self._problem.monitor, evaluation.effective
        if len(landed) > 1 or evaluation.schedule != landed or violates(evaluation, self._problem.contract):
            return
        marks = [(one.common, one.monitors[monitor]) for one in evaluation.final_fingerprints]
        reached = {crossing.place for crossing in evaluation.crossings}
        if not landed:
            self._usual_marks.update(marks)
            self._usual.update(reached)
        elif not self._usual_marks.isdisjoint(marks) or reached < self._usual:
            self.futile.update(landed)

    def _take_candidates(self, evaluation: Evaluation, fresh: Iterable[Candidate]) -> None:
        asked = {crossing.place: crossing.asked for crossing in evaluation.crossings}
        for candidate in fresh:
            injection = candidate.injection
            place = place_of(injection)
            site = self.sites.get(place)
            if site is None:
                needs = _before(evaluation, asked, asked[place])
                site = self.sites[place] = Site(place, asked[place], needs, self.cost_of(needs), ways=set(needs))
                self._has_needs = self._has_needs or bool(needs)
            site.candidates.append(candidate)
            self.arms.setdefault(Arm(injection.operator_name, place.interface), []).append(candidate)
            self.candidates.append(candidate)

    def _take_needs(self, evaluation: Evaluation) -> None:
        """Keep the cheapest way to each place that the run without injections does not reach."""
        if not self._has_needs or not evaluation.effective:
            return
        asked: dict[Place, int] = {}
        for crossing in evaluation.crossings:
            asked[crossing.place] = crossing.asked
            site = self.sites.get(crossing.place)
            if site is None or not site.needs:
                continue
            needs = _before(evaluation, asked, crossing.asked)
            site.ways.update(needs)
            cost = self.cost_of(needs)
            if cost < site.needs_cost - COST_TOLERANCE:
                site.needs, site.needs_cost, site.position = needs, cost, crossing.asked


def _before(evaluation: Evaluation, asked: dict[Place, int], position: int) -> Schedule:
    """Return what landed in a run at places that were asked before a position."""
    return schedule(
        injection for injection in evaluation.effective if asked.get(place_of(injection), position) < position
    )


def margin_of(evaluation: Evaluation, contract: str) -> float:
    """Return how far a run was from breaking a contract fairly, in [-1, 1]; below 0 it is broken.

    A run that could not be executed, tells nothing of the contract, or breaks it unfairly is as far as can be.
    """
    verdict = evaluation.verdict(contract) if evaluation.status is Status.OK else None
    if verdict is None or verdict.verdict is Verdict.UNKNOWN or verdict.unfair:
        return 1.0
    return verdict.margin
