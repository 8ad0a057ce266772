"""Lineage: an exact search that first tries what changes something on which passing outcomes depended (level C4).

Declared is: a run passes as long as the calls from which another passing run derived its outcome go as they went there.
So whatever violates injects something else into these calls, for each passing run that is known. What that costs at
least is added to the cost of a schedule before schedules are ordered; what cannot be afforded with it is never run.
"""

from __future__ import annotations

import heapq
import random
from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, Injection, Place, hook_at, inject
from chaosagent.faults.operator import COST_DECIMALS, COST_TOLERANCE
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.searchers.proof.audit import BELOW_EVERY
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Purpose, SearchProgress
from chaosagent.study.shrinking.minimise import holds_fairly, violates
from chaosagent.vocabulary import Boundary

RULE = "lineage"


class _Held(NamedTuple):
    """A schedule that the exact search wants to have run, ordered by what a violation with it costs at least."""

    least: float
    number: int
    cost: float
    schedule: Schedule


class LineageSearcher:
    """Hands on what an exact search asks for, in another order, and not all of it.

    Args:
        problem: What is searched; its contract judges nothing but the outcome.
        inner: The exact search of the problem.
    """

    def __init__(self, problem: Problem, inner: ExactSearcher) -> None:
        self._problem, self._inner = problem, inner
        self._supports = Supports(problem.space)
        self._is_used = True
        self._told: dict[Schedule, Evaluation] = {}
        self._violations: list[Schedule] = []
        self._held: list[_Held] = []
        self._out: dict[Schedule, float] = {}
        self._taken: set[Schedule] = set()
        self._reached = -1.0
        self._pruned = self._judged = self._contradictions = 0
        self._audited: set[Schedule] = set()

    # ------------------------------------------------------------------ ask and tell

    def ask(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < count:
            self.settle()
            if not self._wants_more:
                break
            held = self._pop()
            self._out[held.schedule] = held.cost
            proposals.append(Proposal(held.schedule, Purpose.CERTIFY))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        schedule = evaluation.schedule
        withdrawn = self._inner.progress.contradictions
        self._inner.tell(evaluation)
        self._out.pop(schedule, None)
        if self._inner.progress.contradictions != withdrawn:
            self._begin_anew()
        if schedule in self._told:
            return
        self._reached = -1.0
        self._told[schedule] = evaluation
        if schedule in self._audited:
            self._audited.discard(schedule)
            self._judged += self._is_used
        if self._is_used and self._is_contradicted_by(evaluation):
            self._contradictions += 1
            self._is_used = False
            self._pruned = 0
            self._held = [held._replace(least=held.cost) for held in self._held]
            heapq.heapify(self._held)

    def settle(self) -> None:
        """Take from the exact search all that may come before what is held."""
        self._inner.settle()
        while True:
            self._refresh()
            if self._held and self._reached >= self._held[0].least:
                return
            asked = self._inner.ask(1)
            if not asked:
                return
            schedule = asked[0].schedule
            self._reached = self._inner.cost_of(schedule)
            if schedule not in self._taken:
                self._taken.add(schedule)
                cost = self._reached
                self._push(_Held(self._least(schedule, cost), len(self._taken), cost, schedule))

    def _refresh(self) -> None:
        """Bring to the top of what is held what comes first as far as is known now."""
        while self._held:
            held = self._held[0]
            if held.schedule in self._told:
                self._pop()
                continue
            least = self._least(held.schedule, held.cost)
            if least <= held.least:
                return
            self._pop()
            self._push(held._replace(least=least))

    def _push(self, held: _Held) -> None:
        self._pruned += held.least > held.cost
        heapq.heappush(self._held, held)

    def _pop(self) -> _Held:
        held = heapq.heappop(self._held)
        self._pruned -= held.least > held.cost
        return held

    def _least(self, schedule: Schedule, cost: float) -> float:
        return round(cost + self._supports.cost_to_hit(schedule), COST_DECIMALS) if self._is_used else cost

    @property
    def _wants_more(self) -> bool:
        if not self._held:
            return False
        least = self._held[0].least
        return least <= self._problem.budget + COST_TOLERANCE and least < self._inner.affordable

    @property
    def finished(self) -> bool:
        self.settle()
        return not self._out and not self._wants_more

    @property
    def waiting(self) -> int:
        """How many schedules may still have to be run, as far as is known now."""
        return self._inner.waiting + len(self._held)

    @property
    def affordable(self) -> float:
        """What costs less than this is still wanted."""
        return self._inner.affordable

    def cost_of(self, schedule: Schedule) -> float:
        """Return what a schedule costs in the order of the search."""
        return self._inner.cost_of(schedule)

    @property
    def rules(self) -> Mapping[str, bool]:
        """The rules, and whether they are in use."""
        return {**self._inner.rules, RULE: self._is_used}

    @property
    def progress(self) -> SearchProgress:
        self.settle()
        progress = self._inner.progress
        progress = replace(
            progress,
            audited=progress.audited + self._judged,
            contradictions=progress.contradictions + self._contradictions,
            audited_of={**progress.audited_of, RULE: self._judged},
            contradicted=(*progress.contradicted, *([RULE] if self._contradictions else [])),
        )
        if not self._is_used:
            return progress
        out = min((self._least(schedule, cost) for schedule, cost in self._out.items()), default=float("inf"))
        next_least = self._held[0].least if self._wants_more else float("inf")
        bound = min(out, next_least, self._inner.unknown_cost, self._inner.affordable)
        level = "C0" if bound <= 0.0 else "C4" if self._pruned else progress.level
        pruned = {**progress.pruned, RULE: self._pruned}
        return replace(progress, lower_bound=bound, level=level, pruned=pruned)

    def audit(self, count: int) -> list[Proposal]:
        rng = derive(self._problem.search_seed, "lineage", "audit", self._problem.contract, len(self._told))
        purposes: dict[Schedule, Purpose] = {}
        pool = [held.schedule for held in self._held if held.least > held.cost and self._is_used]
        pool = [schedule for schedule in pool if schedule not in self._told]
        asked = self._inner.audit(count // 2 if pool else count)
        share = count - sum(proposal.purpose is Purpose.AUDIT for proposal in asked) if pool else 0
        deeper = share // BELOW_EVERY
        chosen = rng.sample(pool, min(len(pool), share - deeper))
        self._audited.update(chosen)
        for schedule in [*chosen, *self._extended(pool, deeper, rng)]:
            purposes[schedule] = Purpose.AUDIT
        for proposal in asked:
            purposes.setdefault(proposal.schedule, proposal.purpose)
        return [Proposal(schedule, purpose) for schedule, purpose in purposes.items()]

    def audit_further(self) -> list[Proposal]:
        """Return what is to be run behind an audit (`AuditsFurther`)."""
        return self._inner.audit_further()

    def give_up(self, rule: str) -> bool:
        """Search anew without a rule; return whether it was in use (`GivesUpRules`)."""
        was_used = self._inner.give_up(rule)
        if was_used:
            self._begin_anew()
        return was_used

    def _begin_anew(self) -> None:
        """Forget what is held, as the exact search begins anew and asks for it once more."""
        self._held.clear()
        self._pruned, self._reached, self._taken = 0, -1.0, set(self._out)

    # ------------------------------------------------------------------ what passes

    def _is_contradicted_by(self, evaluation: Evaluation) -> bool:
        """Learn from a run; return whether something violates though it touches no support of what passes."""
        if violates(evaluation, self._problem.contract):
            self._violations.append(evaluation.effective)
            return self._supports.kept_by(evaluation.effective) is not None
        if holds_fairly(evaluation, self._problem.contract) and evaluation.effective == evaluation.schedule:
            support = self._supports.add(evaluation)
            return support is not None and any(support.is_kept_by(found) for found in self._violations)
        return False

    def _extended(self, pool: list[Schedule], count: int, rng: random.Random) -> list[Schedule]:
        """Return a few schedules that lie below pruned ones."""
        found = [self._extensions(rng.choice(pool)) for _ in range(count)]
        return [rng.choice(further) for further in found if further]

    def _extensions(self, schedule: Schedule) -> list[Schedule]:
        """Return what lies below a pruned schedule: it, and one more injection that does not matter either."""
        support = self._supports.kept_by(schedule)
        if support is None:
            return []
        space, found = self._problem.space, []
        left = self._problem.budget - schedule.declared_cost(space.model) + COST_TOLERANCE
        for crossing in self._told[support.schedule].crossings:
            hook = hook_at(crossing.place)
            if call_of(hook) in support.calls or any(hook.overlaps(other.hook) for other in schedule):
                continue
            for priced in space.at(crossing.boundary, hook.interface, hook.agent):
                if priced.cost <= left:
                    found.append(schedule.with_injection(inject(hook, priced.operator)))
        return found


class Support(NamedTuple):
    """The calls from which a passing run derived its outcome.

    Attributes:
        size: How many they are.
        text: Orders supports of equal size.
        calls: Each as its first attempt.
        injected: What was injected there.
        cost: Of the cheapest injection that could hit one of them.
        schedule: Of the run.
    """

    size: int
    text: str
    calls: frozenset[Place]
    injected: frozenset[Injection]
    cost: float
    schedule: Schedule

    def is_kept_by(self, schedule: Iterable[Injection]) -> bool:
        """Whether a schedule does to these calls what was done in that run, so that it passes, too."""
        return frozenset(one for one in schedule if call_of(one.hook) in self.calls) == self.injected


class Supports:
    """All supports that are known.

    Args:
        space: Says what it costs to hit a call.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._known: dict[tuple[frozenset[Place], frozenset[Injection]], Support] = {}
        self._ordered: list[Support] = []

    def add(self, evaluation: Evaluation) -> Support | None:
        """Take the support of a passing run; return it unless it is known or the run has none."""
        if not evaluation.support:
            return None
        calls = frozenset(evaluation.support)
        injected = frozenset(one for one in evaluation.schedule if call_of(one.hook) in calls)
        if (calls, injected) in self._known:
            return None
        text = "; ".join(map(str, sorted(calls))) + " | " + str(evaluation.schedule)
        cost = min(self._cheapest(call) for call in calls)
        support = self._known[calls, injected] = Support(len(calls), text, calls, injected, cost, evaluation.schedule)
        insort(self._ordered, support, key=_order)
        return support

    def kept_by(self, schedule: Schedule) -> Support | None:
        """Return a support that a schedule does not touch, so that it passes; `None` when it touches all."""
        return next((support for support in self._ordered if support.is_kept_by(schedule)), None)

    def cost_to_hit(self, schedule: Schedule) -> float:
        """Return what has to be added to a schedule at least before it touches all supports.

        Supports without a call in common need an injection each, and the small ones are taken first.

        Source: lineage-driven fault injection (Alvaro, Rosen and Hellerstein 2015), with a bound on the cheapest
        hitting set in place of a solver.
        """
        total, used = 0.0, set[Place]()
        for support in self._ordered:
            if used.isdisjoint(support.calls) and support.is_kept_by(schedule):
                used |= support.calls
                total += support.cost
        return total

    def _cheapest(self, call: Place) -> float:
        boundary = Boundary(call.interface.partition(":")[0])
        return min(
            (priced.cost for priced in self._space.at(boundary, call.interface, call.agent)), default=float("inf")
        )


def call_of(hook: Hook) -> Place:
    """Return the call at which an injection at one place acts, as its first attempt."""
    return Place(hook.interface, hook.agent, hook.first)


def _order(support: Support) -> tuple[int, str]:
    return support.size, support.text
