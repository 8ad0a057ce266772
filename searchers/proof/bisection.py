"""Monotone magnitudes: an exact search over intervals of levels, which are cut only where something breaks (level C3).

Declared is: what breaks the contract breaks it, too, with any of its injections at a stronger level. Then the strongest
level of an interval stands for the interval. An exact search over intervals, each as its strongest level at the cost of
its weakest, finds the least cost that anything in them can have; nothing cheaper breaks the contract. Where what it
found could be cheaper than it is, the interval that matters most is cut in the middle, and the search goes on with what
it knows: what it has run already is not run again. It ends when what it found costs as little as its intervals allow.

This is sound with the rules R1 to R3. Raise every injection of a violating schedule to the strongest level of its
interval, leave out those that then do not land, and it still violates; it costs no more in intervals, and the exact
search finds it or what R2 and R3 put in its place, which costs no more either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, TypeAlias

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.proof.intervals import IntervalSpace
from chaosagent.seeds import derive
from chaosagent.study.searcher import (
    FREE,
    KnowsCauses,
    KnowsOutcomes,
    LearnsFromOthers,
    Problem,
    Proposal,
    Purpose,
    Searcher,
    SearchProgress,
)
from chaosagent.study.shrinking.minimise import holds_fairly, violates

RULE = "monotone"
TRIES_MAX = 50
Levels: TypeAlias = tuple[int, ...]


class Certifying(Searcher, Protocol):
    """A searcher that proves."""

    def settle(self) -> None:
        """Do everything that needs no run."""
        ...

    def audit_further(self) -> list[Proposal]:
        """Return what is to be run behind an audit (`AuditsFurther`)."""
        ...

    def give_up(self, rule: str) -> bool:
        """Search anew without a rule; return whether it was in use (`GivesUpRules`)."""
        ...

    @property
    def waiting(self) -> int:
        """How many schedules may still have to be run, as far as is known now."""
        ...

    @property
    def rules(self) -> Mapping[str, bool]:
        """The rules of which it could do without, and whether they are in use."""
        ...


Make: TypeAlias = Callable[[Problem, Mapping[str, bool]], Certifying]
"""Makes the search of a problem with some rules."""


class BisectingSearcher:
    """Searches intervals of levels, and cuts those that matter.

    Some of what it asks for is dearer than the budget: it is run for what passes with it.

    Args:
        problem: What is searched.
        rules: Rules of the search over intervals.
        make: Makes that search.
    """

    def __init__(self, problem: Problem, rules: Mapping[str, bool], make: Make) -> None:
        self._problem, self._make = problem, make
        self._space = IntervalSpace(problem.space)
        self._affordable = problem.budget + COST_TOLERANCE
        self._inner = make(replace(problem, space=self._space, log=None), rules)
        self._is_used = True
        self._told: dict[Schedule, Evaluation] = {}
        self._out: set[Schedule] = set()
        self._stand_ins: set[Schedule] = set()
        self._passing: defaultdict[tuple[object, ...], list[tuple[Levels, Schedule]]] = defaultdict(list)
        self._violating: defaultdict[tuple[object, ...], list[tuple[Levels, Schedule]]] = defaultdict(list)
        self._audited: dict[Schedule, Schedule] = {}
        self._pruned = 0
        self._contradictions = self._inner_contradictions = 0
        self._judged: Counter[str] = Counter()
        self._undeclared: tuple[str, ...] = ()
        self._inner_contradicted: tuple[str, ...] = ()

    # ------------------------------------------------------------------ ask and tell

    def ask(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < count:
            self.settle()
            asked = self._inner.ask(1)
            if not asked:
                break
            schedule = asked[0].schedule
            if schedule in self._out:
                continue
            twin = self._known_to_pass(schedule)
            if twin is not None:
                self._stand_in(schedule, twin)
                continue
            self._out.add(schedule)
            proposals += map(self._affordable_or_probe, asked)
        return proposals

    def _affordable_or_probe(self, proposal: Proposal) -> Proposal:
        """Return what is asked for an interval; its strongest level may be dearer than the budget allows."""
        is_dear = self._cost_of(proposal.schedule) > self._affordable
        return proposal._replace(purpose=Purpose.PROBE) if is_dear and proposal.purpose not in FREE else proposal

    def tell(self, evaluation: Evaluation) -> None:
        schedule = evaluation.schedule
        self._out.discard(schedule)
        if schedule in self._stand_ins:
            self._restart()
        is_below = self._is_below_the_bound(evaluation)
        self._hand_over(evaluation)
        if schedule in self._told:
            return
        self._told[schedule] = evaluation
        contradicted = self._notice(evaluation) or is_below
        for sample in [one for one, twin in self._audited.items() if one in self._told and twin in self._told]:
            del self._audited[sample]
            self._judged[RULE] += self._is_used
        if contradicted and self._is_used:
            self._contradictions += 1
            self._is_used = False
            self._restart()

    def settle(self) -> None:
        """Cut intervals until the search over them finds nothing that could be cheaper than it is."""
        self._inner.settle()
        while self._is_used and self._cut():
            self._restart()

    def core(self, evaluation: Evaluation) -> Schedule:
        """Return the injections of a run that most likely matter, as far as the search over intervals can tell."""
        return self._inner.core(evaluation) if isinstance(self._inner, KnowsCauses) else evaluation.effective

    def known_to_hold(self, schedule: Schedule) -> bool:
        """Whether other runs have shown that a run of a schedule does not break the contract."""
        return isinstance(self._inner, KnowsOutcomes) and self._inner.known_to_hold(schedule)

    @property
    def finished(self) -> bool:
        self.settle()
        return self._inner.finished

    @property
    def waiting(self) -> int:
        """How many schedules may still have to be run, as far as is known now."""
        return self._inner.waiting

    @property
    def rules(self) -> Mapping[str, bool]:
        """The rules of which it could do without, and whether they are in use."""
        return {**self._inner.rules, RULE: self._is_used}

    @property
    def progress(self) -> SearchProgress:
        progress = self._inner.progress
        pruned, judged = dict(progress.pruned), self._judged + Counter(progress.audited_of)
        if self._is_used:
            pruned[RULE] = self._pruned
        level = "C3" if pruned.get(RULE) and progress.level in ("C1", "C2") else progress.level
        return replace(
            progress,
            level=level,
            pruned=pruned,
            audited=judged.total() + progress.audited - sum(progress.audited_of.values()),
            audited_of=dict(judged),
            contradictions=progress.contradictions + self._inner_contradictions + self._contradictions,
            undeclared=self._undeclared or progress.undeclared,
            contradicted=(
                *self._inner_contradicted,
                *progress.contradicted,
                *([RULE] if self._contradictions else []),
            ),
        )

    def audit(self, count: int) -> list[Proposal]:
        pool = self._stood_for() if self._is_used else []
        rng = derive(self._problem.search_seed, "bisection", "audit", self._problem.contract, len(self._told))
        purposes: dict[Schedule, Purpose] = {}
        asked = self._inner.audit(count // 2 if pool else count)
        own = count - sum(proposal.purpose is Purpose.AUDIT for proposal in asked) if pool else 0
        for _ in range(TRIES_MAX * own):
            if len(purposes) >= own:
                break
            (twin, _), *_ = rng.choices(pool, [number for _, number in pool])
            weaker = [one for one in self._space.weaker(twin) if one != twin and self._cost_of(one) <= self._affordable]
            sample = rng.choice(weaker)
            if sample not in self._told:
                purposes[sample] = Purpose.AUDIT
                self._audited[sample] = twin
        for proposal in asked:
            purposes.setdefault(proposal.schedule, proposal.purpose)
        return [self._affordable_or_probe(Proposal(schedule, purpose)) for schedule, purpose in purposes.items()]

    def audit_further(self) -> list[Proposal]:
        """Return what is to be run behind an audit (`AuditsFurther`)."""
        return [self._affordable_or_probe(proposal) for proposal in self._inner.audit_further()]

    def give_up(self, rule: str) -> bool:
        """Search anew without a rule; return whether it was in use (`GivesUpRules`)."""
        return self._inner.give_up(rule)

    # ------------------------------------------------------------------ intervals

    def _cost_of(self, schedule: Schedule) -> float:
        return schedule.declared_cost(self._problem.space.model)

    def _cut(self) -> bool:
        """Cut an interval of the violation that may be cheapest, if that is not proved to be the cheapest."""
        floor, worst = self._cheapest(self._space.floor)
        cost, _ = self._cheapest(self._cost_of)
        if worst is None or floor >= cost or floor > self._affordable:
            return False
        if not self._inner.finished and self._inner.progress.lower_bound < floor:
            return False  # what is cheaper comes first
        return self._space.cut(worst)

    def _cheapest(self, cost_of: Callable[[Schedule], float]) -> tuple[float, Schedule | None]:
        violating = (schedule for found in self._violating.values() for _, schedule in found)
        costs = ((cost_of(schedule), str(schedule), schedule) for schedule in violating)
        cost, _, schedule = min(costs, key=lambda found: found[:2], default=(float("inf"), "", None))
        return cost, schedule

    def _restart(self) -> None:
        """Search anew what is known, and so run nothing again."""
        progress, rules = self._inner.progress, self._inner.rules
        self._judged.update(progress.audited_of)
        self._undeclared = self._undeclared or progress.undeclared
        self._inner_contradicted += progress.contradicted
        self._inner_contradictions += progress.contradictions
        self._stand_ins.clear()
        self._pruned = sum(number for _, number in self._stood_for())
        space = self._space if self._is_used else self._problem.space
        self._inner = self._make(replace(self._problem, space=space, log=None), rules)
        for evaluation in self._told.values():
            self._hand_over(evaluation)
        self._inner.settle()

    def _hand_over(self, evaluation: Evaluation) -> None:
        """Let the search over intervals learn from a run."""
        self._inner.tell(evaluation)

    def _is_below_the_bound(self, evaluation: Evaluation) -> bool:
        """Whether a run breaks the contract below what is proved: a weaker level has broken what a stronger did not.

        What passes at the strongest levels need not have been run; rule R3 may have foreseen it.
        """
        if not self._is_used or not violates(evaluation, self._problem.contract):
            return False
        proved = min(self._inner.progress.lower_bound, self._affordable)
        return self._cost_of(evaluation.effective) < proved - COST_TOLERANCE

    def _known_to_pass(self, schedule: Schedule) -> Schedule | None:
        """Return what has passed at stronger levels, if there is nothing to be searched behind a schedule either."""
        if not self._is_used:
            return None
        cost, _ = self._cheapest(self._cost_of)
        behind = self._space.floor(schedule) + self._problem.space.cost_min
        if behind < cost and behind <= self._affordable:
            return None
        bones, levels = self._space.skeleton(schedule)
        return next((twin for known, twin in self._passing[bones] if _at_least(known, levels)), None)

    def _stand_in(self, schedule: Schedule, twin: Schedule) -> None:
        """Tell the search that a schedule passes and has nothing behind it that matters."""
        self._stand_ins.add(schedule)
        known = self._told[twin]
        self._inner.tell(
            Evaluation(
                schedule, effective=schedule, ending=known.ending, success=known.success, verdicts=known.verdicts
            )
        )

    def _notice(self, evaluation: Evaluation) -> bool:
        """Keep what passes and what violates; return whether something that violates passes at stronger levels."""
        landed = evaluation.effective
        bones, levels = self._space.skeleton(landed)
        if violates(evaluation, self._problem.contract):
            self._violating[bones].append((levels, landed))
            return any(_at_least(known, levels) for known, _ in self._passing[bones])
        if holds_fairly(evaluation, self._problem.contract) and landed == evaluation.schedule:
            self._passing[bones].append((levels, landed))
            self._pruned += self._space.stands_for(landed, self._affordable)
            return any(_at_least(levels, known) for known, _ in self._violating[bones])
        return False

    def _stood_for(self) -> list[tuple[Schedule, int]]:
        """Return the schedules that passed at the strongest levels, and how many weaker ones each stands for."""
        passing = (schedule for found in self._passing.values() for _, schedule in found)
        counted = [(schedule, self._space.stands_for(schedule, self._affordable)) for schedule in passing]
        return [(schedule, number) for schedule, number in counted if number]


class ObservingBisector(BisectingSearcher):
    """The same, where the search over intervals learns from the runs of others (`LearnsFromOthers`)."""

    def __init__(self, problem: Problem, rules: Mapping[str, bool], make: Make) -> None:
        self._heard: set[Schedule] = set()
        super().__init__(problem, rules, make)

    def observe_other(self, evaluation: Evaluation) -> None:
        """Learn from a run that a search for another contract has asked for."""
        if evaluation.schedule not in self._told:
            self._heard.add(evaluation.schedule)
        self.tell(evaluation)

    def _hand_over(self, evaluation: Evaluation) -> None:
        """Let the search over intervals learn from a run, as it was learned from here."""
        inner = self._inner
        if evaluation.schedule in self._heard and isinstance(inner, LearnsFromOthers):
            inner.observe_other(evaluation)
        else:
            inner.tell(evaluation)


def _at_least(strong: Levels, weak: Levels) -> bool:
    return all(mine >= other for mine, other in zip(strong, weak, strict=True))
