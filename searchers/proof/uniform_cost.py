"""Uniform-cost search for the certified minimum.

A run is deterministic, so any schedule can be built by adding its injections in the order in which they act, each at a
point that the run before it has shown. Searching that tree in the order of cost executes nothing dearer than the
optimum, and what it executed proves that nothing cheaper exists. Three sound rules keep the tree small:

* R1 reach: an injection is added only where it would begin to act behind the last one that acted;
* R2 dry application: of the operators with the same known outcome at a point only the cheapest is tried, and none that
  changes nothing;
* R3 convergence: once the fingerprint behind an injection is one that a run before it in the order of cost had, what
  follows is known.

Why R1 loses nothing. An injection *deviates* when its operator first does anything but pass on the request, at once
and unchanged, and the answer likewise; until then it has no effect, and then it lands. It can deviate when the agent
asks or when the world has answered, and dry application tells which (`Deviation`); a run refuses operators that act at
other moments (`execution.supervised`). Let S be a minimal counterexample whose injections deviate in some order in its
run, and S_k the first k of them. Until the next one deviates, all later ones only pass on, so the runs of S and S_k
agree up to there. So in the run of S_k exactly its k injections land, and it shows the call at which the next one would
deviate, behind all of them: S_k is searched on, and S_(k+1) is one of its children. A schedule of which something does
not land need not be searched on, as its run is that of the part that lands.

What is asked next follows from what was told, in whatever order: equal costs are ordered by what schedules are, and R3
is applied when a schedule would be asked.

Where all minimal counterexamples are wanted, the search goes on behind a violation, with nothing that holds a known
one. That is sound for whatever violation is known, minimal or not: what holds it is not minimal, and so is nothing that
is reached through it. The minimal ones that it holds itself are cheaper or have fewer injections, so that they do not
hold it and are searched all the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.proof.audit import ORDER, Audit, Sample, below, order_is_wrong
from chaosagent.searchers.proof.chains import Chains
from chaosagent.searchers.proof.frontier import Child, Family, Frontier, Origin, revived
from chaosagent.searchers.proof.limits import limit_share_max
from chaosagent.searchers.proof.owners import Owners
from chaosagent.searchers.seen.points import Candidate, Expander, expander_of
from chaosagent.searchers.seen.states import States, Stretch
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.seeds import derive
from chaosagent.study.memory.evaluation_log import ScheduleSet
from chaosagent.study.searcher import Problem, Proposal, Purpose, SearchProgress
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.vocabulary import Verdict


class ExactSearcher:
    """Proposes schedules in the order of their cost until the first violation, or until the budget is exhausted.

    Args:
        problem: What is searched.
        r1: Use rule R1.
        r2: Use rule R2.
        r3: Use rule R3; without fingerprints it does nothing.

    Attributes:
        on_family: Called with the children of each schedule that is searched on, if there is somebody to call.
        expander: Finds what could be added to runs.
        told: What it was told.
        states: What is known of the states that runs come through.
    """

    def __init__(self, problem: Problem, *, r1: bool = True, r2: bool = True, r3: bool = True) -> None:
        self._problem = problem
        self.on_family: Callable[[Family], None] | None = None
        self._rules = {"R1": r1, "R2": r2, "R3": r3}
        self._contradictions, self._contradicted = 0, list[str]()
        self._spent_max, self._near_limit = limit_share_max(problem), 0.0
        self._cheapest = problem.space.cost_min
        self.expander = self._new_expander()
        self.told = TrialLog(problem.log)
        self.states = States(problem.monitor, problem.space.model, problem.seed, problem.log)
        self._chains = Chains(self.states, problem.space.model, problem.budget)
        self._audit = Audit(problem.contract, self._chains)
        self._restart()

    def _restart(self) -> None:
        """Begin the tree anew, and take in at once what was told: the search may be ended before it asks again."""
        problem = self._problem
        self._settled: Child | None = None  # the first of the frontier, once it is known that it needs a run
        self._settled_schedule = EMPTY
        self._frontier = Frontier(
            None
            if problem.log is None
            else lambda one: revived(one, self.told, self.expander, in_order=self._rules[ORDER])
        )
        self._frontier.push(Child(0.0, 0, "", 0, 0, -1, EMPTY, None, None))
        self._asked = ScheduleSet(problem.log)
        self._waiting = 0
        self._open: dict[Schedule, float] = {}
        model, used, several = problem.space.model, self._rules["R3"], problem.all_minimal
        self._owners = Owners(self.states, model, spent_max=self._spent_max, is_used=used, all_minimal=several)
        self._pruned: Counter[str] = Counter()
        self._unknown_cost = self._best_cost = float("inf")
        self._violations = MinimalSets(problem.space.model)
        self._audit.begin(derive(problem.search_seed, "exact", "audit", problem.contract, self._contradictions))
        for evaluation in self.told:
            self._notice(evaluation)
        self.settle()

    def _new_expander(self) -> Expander:
        problem = self._problem
        return expander_of(problem.space, problem.seed, dry=self._rules["R2"], kinds_matter=problem.kinds_matter)

    # ------------------------------------------------------------------ ask and tell

    def ask(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < count:
            self.settle()
            if not self._frontier or self._decided(self._frontier.first.cost):
                break
            child, schedule = self._pop(), self._settled_schedule
            self._asked.add(schedule)
            self._open[schedule] = child.cost
            proposals.append(Proposal(schedule, Purpose.CERTIFY))
        return proposals

    def settle(self) -> None:
        """Take from the frontier what needs no run: what was told already, what was asked, and what R3 prunes."""
        while self._frontier and not self._decided(self._frontier.first.cost):
            child = self._frontier.first
            if child is self._settled:
                return
            schedule = child.schedule
            if schedule in self._asked or self._violations.held_by(schedule) or self._converged(child):
                self._pop()
                continue
            known = self.told.get(schedule)
            foreseen = self._foreseen(child, schedule) if known is None else None
            if known is None and foreseen is None:
                self._settled, self._settled_schedule = child, schedule
                return
            self._pop()
            self._asked.add(schedule)
            if known is not None:
                self._expand(known, child.cost)
            elif foreseen is not None:
                self._take_over(schedule, child, *foreseen)

    def likely(self) -> Iterator[Schedule]:
        """Yield what is asked next unless a run before it says otherwise (`ForeseesTrials`)."""
        for child in self._frontier.in_order():
            if self._decided(child.cost):
                return
            schedule = child.schedule
            if schedule not in self._asked and schedule not in self.told and not self._violations.held_by(schedule):
                yield schedule

    def _pop(self) -> Child:
        child = self._frontier.pop()
        self._waiting -= child.injection is not None
        self._push_next_of(child.family)
        return child

    def tell(self, evaluation: Evaluation) -> None:
        schedule = evaluation.schedule
        self._settled = None
        if self.told.take(evaluation):
            self._notice(evaluation)
            self._chains.take(evaluation)
            if self._rules["R3"]:
                self._take_states(evaluation)
        cost = self._open.pop(schedule, None)
        if cost is not None:
            self._asked.add(schedule)
            self._expand(evaluation, cost)
        if self._rules[ORDER] and order_is_wrong(evaluation, self.told):
            self._withdraw(ORDER)
        for rule in self._audit.contradicted(self.told):
            if self._rules[rule]:
                self._withdraw(rule)

    def _take_states(self, evaluation: Evaluation) -> None:
        """Learn what followed on which states, and give rule R3 up when that contradicts what is known.

        Or when a run comes so near to a limit that one which R3 spares might reach it. A run that is dearer than the
        budget stands for none, and only teaches nothing.
        """
        if evaluation.spent < self._spent_max:
            if not self.states.take(evaluation):
                self._withdraw("R3")
        elif self.cost_of(evaluation.effective) <= self._problem.budget + COST_TOLERANCE:
            self._near_limit = evaluation.spent
            self._rules["R3"] = False
            self._restart()

    @property
    def finished(self) -> bool:
        return not self._open and (not self._frontier or self._decided(self._frontier.first.cost))

    @property
    def waiting(self) -> int:
        """How many schedules may still have to be run, as far as is known now."""
        return self._waiting

    @property
    def next_is_unknown(self) -> bool:
        """Whether no run has shown what the schedule that comes next does up to the next checkpoint."""
        self.settle()
        if not self._foresees or not self._frontier or self._decided(self._frontier.first.cost):
            return False
        child = self._frontier.first
        if child.injection is None or child.family is None:
            return False
        return self.states.foresee(child.family.origin.run, child.position, child.injection) is None

    @property
    def affordable(self) -> float:
        """What a schedule has to cost less than to be of use."""
        return self._best_cost if not self._problem.all_minimal else float("inf")

    @property
    def unknown_cost(self) -> float:
        """The cost of the cheapest trial that told nothing of the contract."""
        return self._unknown_cost

    @property
    def rules(self) -> Mapping[str, bool]:
        """The rules, and whether they are in use."""
        return self._rules

    @property
    def lower_bound(self) -> float:
        """Nothing cheaper than this breaks the contract, or no other minimal counterexample if all are wanted."""
        next_cost = self._frontier.first.cost if self._frontier else float("inf")
        found = float("inf") if self._problem.all_minimal else self._best_cost
        return min(*self._open.values(), self._unknown_cost, found, next_cost)

    @property
    def progress(self) -> SearchProgress:
        bound = self.lower_bound
        level = "C0" if bound <= 0.0 else "C2" if self._pruned["R3"] else "C1"  # without a proof no rule was needed
        pruned = {rule: self._pruned[rule] for rule, is_used in self._rules.items() if is_used}
        audit, wrong = self._audit, self._contradictions
        judged, named, gone = dict(audit.judged), audit.undeclared, tuple(self._contradicted)
        return SearchProgress(bound, level, pruned, audit.total, wrong, judged, self._near_limit, named, gone)

    def audit(self, count: int) -> list[Proposal]:
        return self._audit.choose(count, self.told, self._below)

    def _below(self, sample: Sample, rng: random.Random) -> Sample:
        return below(self.told, self.expander, self._problem, sample, rng)

    def audit_further(self) -> list[Proposal]:
        """Return what is to be run behind an audit (`AuditsFurther`)."""
        return self._audit.choose_further(self.told, self.affordable - 2 * COST_TOLERANCE)

    def _withdraw(self, rule: str) -> None:
        """Search anew without a rule that was found wrong."""
        self._contradictions += 1
        self._contradicted.append(rule)
        self.give_up(rule)

    def give_up(self, rule: str) -> bool:
        """Search anew without a rule; return whether it was in use (`GivesUpRules`)."""
        if not self._rules.get(rule, False):
            return False
        self._rules[rule] = False
        if rule == "R2":
            self.expander = self._new_expander()
        self._restart()
        return True

    # ------------------------------------------------------------------ the tree

    def _decided(self, cost: float) -> bool:
        """Whether a violation at most this dear is known already, and no other is wanted."""
        return self._best_cost <= cost and not self._problem.all_minimal

    def _notice(self, evaluation: Evaluation) -> None:
        """Keep the cost of the cheapest violation, and of the cheapest trial that told nothing of the contract."""
        verdict = evaluation.verdict(self._problem.contract)
        if evaluation.status is Status.ERROR:
            self._unknown_cost = min(self._unknown_cost, self.cost_of(evaluation.schedule))
        elif verdict is None or verdict.verdict is Verdict.UNKNOWN:
            self._unknown_cost = min(self._unknown_cost, self.cost_of(evaluation.effective))
        elif verdict.verdict is Verdict.VIOLATED and not verdict.unfair:
            self._best_cost = min(self._best_cost, self.cost_of(evaluation.effective))
            if self._problem.all_minimal:
                self._violations.add(evaluation.effective)

    def cost_of(self, schedule: Schedule) -> float:
        """Return what a schedule costs in the order of the search."""
        return schedule.declared_cost(self._problem.space.model)

    def _expand(self, evaluation: Evaluation, cost: float) -> None:
        if evaluation.status is Status.ERROR or evaluation.effective != evaluation.schedule or self._decided(cost):
            return
        if self._violations.held_by(evaluation.schedule):
            return
        self._owners.take(evaluation, (cost, str(evaluation.schedule)))
        self._grow(Origin(evaluation.schedule, cost, evaluation.acted, evaluation))

    def _grow(self, origin: Origin, until: float = float("inf")) -> None:
        """Put on the frontier what may be added to a schedule.

        Args:
            origin: The schedule, and the run that shows what it does.
            until: Up to this position of that run.
        """
        affordable = self._problem.budget - origin.cost + COST_TOLERANCE
        if affordable < self._cheapest:
            return
        after = origin.acted if self._rules[ORDER] else -1
        if after >= 0 and origin.run.schedule == origin.schedule:
            self._note_out_of_order(origin, affordable)
        expansion = self.expander.expand(origin.run, after=after, to=origin.schedule)
        count, (last, owner) = expansion.count_within(affordable), self._owners.last_searched(origin)
        if last < float("inf"):  # never where `until` ends a stretch: that is another schedule's run
            converged = [one for one in expansion.candidates[:count] if one.position > last]
            self._note_converged(origin, owner, converged)
        last = min(last, until)
        family = Family(origin, expansion.candidates, count, last, self._owners.exchanges)
        self._waiting += family.waiting
        if self.on_family is not None:
            self.on_family(family)
        self._push_next_of(family)
        left_out = expansion.pruned_within(affordable)
        if last < float("inf"):
            left_out = tuple(one for one in left_out if one.candidate.position <= last)
        self._pruned["R2"] += len(left_out)
        for number, slot in self._audit.slots("R2", len(left_out)):
            (_, position, injection), representative = left_out[number]
            twin = origin.schedule if representative is None else origin.schedule.with_injection(representative)
            self._audit.keep(slot, Sample("R2", origin.schedule.with_injection(injection), (twin,), position))

    def _note_out_of_order(self, origin: Origin, affordable: float) -> None:
        """Count what rule R1 does not add to a schedule, as what it leads to is found in the order of acting."""
        left_out = self.expander.left_out(origin.run, after=origin.acted, cost=affordable)
        self._pruned[ORDER] += left_out.total
        for number, slot in self._audit.slots(ORDER, left_out.total):
            pruned = origin.schedule.with_injection(left_out.candidate(number).injection)
            self._audit.keep(slot, Sample(ORDER, pruned, tuple(map(pruned.without, pruned))))

    def _push_next_of(self, family: Family | None) -> None:
        child = None if family is None else family.next_child()
        if child is not None:
            self._frontier.push(child)

    def _converged(self, child: Child) -> bool:
        """Whether rule R3 makes it unnecessary to run a child."""
        if child.injection is None or child.family is None or child.family.exchanges == self._owners.exchanges:
            return False
        origin = child.family.origin
        last, owner = self._owners.last_searched(origin)
        if child.position <= last:
            return False
        self._note_converged(origin, owner, [Candidate(child.cost, child.position, child.injection)])
        return True

    def _note_converged(self, origin: Origin, owner: Schedule, pruned: Sequence[Candidate]) -> None:
        """Count what rule R3 leaves out, as what it does is known from an equal run before it in the order of cost."""
        self._pruned["R3"] += len(pruned)
        self._audit.keep_converged(origin.schedule, owner, [one.injection for one in pruned])

    def known_to_hold(self, schedule: Schedule) -> bool:
        """Whether other runs have shown that a run of a schedule does not break the contract."""
        if not self._rules["R3"] or self._problem.by_chance:
            return False
        stretch = self.states.foretold(schedule)
        verdict = None if stretch is None else self.states.run_of(stretch).verdict(self._problem.contract)
        return verdict is not None and verdict.verdict is Verdict.HOLDS

    @property
    def _foresees(self) -> bool:
        """Whether a schedule need not be run when others have shown what it does; not where answers come by chance."""
        return self._rules["R1"] and self._rules["R3"] and not self._problem.by_chance

    def _foreseen(self, child: Child, schedule: Schedule) -> tuple[list[Stretch], Schedule] | None:
        """Return what runs have shown of a child, up to where all behind it is known, and what goes on like it.

        Nothing for one that breaks the contract: that is to be run.
        """
        shown = self._owners.shown(child, schedule) if self._foresees else None
        if shown is None or shown[0][-1].next_state is not None:
            return shown
        verdict = self.states.run_of(shown[0][-1]).verdict(self._problem.contract)
        return shown if verdict is not None and verdict.verdict is Verdict.HOLDS else None

    def _take_over(self, schedule: Schedule, child: Child, shown: Sequence[Stretch], twin: Schedule) -> None:
        """Search on from what other runs have shown of a schedule, as if it had been run."""
        self._pruned["R3"] += 1
        for _, slot in self._audit.slots("R3", 1):
            self._audit.keep(slot, Sample("R3", schedule, (twin,)))
        self._owners.take_shown(schedule, shown, (child.cost, str(schedule)))
        for part, stretch in enumerate(shown):
            run, until = self.states.run_of(stretch), float("inf") if stretch.ended is None else stretch.ended
            acted = -1 if part else max(act.position for act in run.acts if act.position <= until)
            self._grow(Origin(schedule, child.cost, max(acted, stretch.begun), run, part), until)
