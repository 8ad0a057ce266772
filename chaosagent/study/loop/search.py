"""One search of a study: the cheapest schedule that breaks one contract of one task with one seed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from chaosagent.contracts.contract import Contract
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.chance.racing import RACE_SHARE, Racer
from chaosagent.study.chance.worlds import progress_of_both
from chaosagent.study.checked_searcher import CheckedSearcher
from chaosagent.study.counterexample import Signature
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.loop.asked_before import AskedBefore
from chaosagent.study.loop.violations import Violations
from chaosagent.study.memory.evaluation_log import EvaluationLog, ScheduleSet, ToldRuns
from chaosagent.study.plan import Plan
from chaosagent.study.searcher import Problem, Proposal, Purpose, SearchProgress
from chaosagent.study.shrinking.minimise import WAITING_MAX, WAITING_MAX_ALL, Shrinker, violates
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial, unknown_reason
from chaosagent.vocabulary import Verdict

SHRINKING_SHARE = 0.5
"""Largest share of the trials in flight that shrink a violation, where more than one is."""


class Search:
    """Asks its searcher, has schedules run, and tells in the order of asking.

    The window of trials in flight is topped up after each tell, so what is asked depends on how many were told and
    never on which worker was faster.

    Args:
        plan: Of the study.
        at: Task and seed.
        contract: What is to be broken.
        monitor: Place of the contract among the verdicts.
        signature_of: Says what kind of failure a violation is; asked where the plan wants a number of them.
        log: Of the runs of this task and seed.
        before: What it asked in earlier sessions.

    Attributes:
        racer: Judges violations where answers come by chance; `None` where they do not.
        found: What it has found.
        trials: How many of its own were told.
        heard: How many runs of other searches it has learned from.
        errors: How many trials ended as errors.
        unknown: How many runs told nothing of the contract.
        unknown_under: Under what the one with the fewest injections was, and why; empty while there is none.
        given_up: Rules that another search of its task has contradicted, each with the contract of that search.
    """

    def __init__(
        self,
        plan: Plan,
        at: TaskSeed,
        contract: Contract,
        monitor: int,
        signature_of: Callable[[TaskSeed, Contract, Schedule], Signature],
        *,
        log: EvaluationLog | None = None,
        before: AskedBefore | None = None,
    ) -> None:
        self.plan, self.at, self.contract, self._signature_of = plan, at, contract, signature_of
        self.racer: Racer | None = None
        self._asked_before = before or AskedBefore()
        self.given_up: dict[str, str] = {}
        self._begin_with(replace(plan.problem(contract, monitor, at.seed), log=log))
        self.trials = self.heard = self.errors = 0
        self.unknown = self._unknown_size = 0
        self.unknown_reason = ""
        self._window: deque[Proposal] = deque()
        self._asked = self._shrinking = 0
        self._has_answered, self._audit_over, self.limit_reached = True, False, False
        self._told = ToldRuns(log)
        self._before: SearchProgress | None = None  # of the worlds before this one
        self._known_elsewhere: deque[Schedule] = deque()  # minimal ones of those worlds, not run in this one yet
        self._floor, self._known = 0.0, ScheduleSet(log)  # known: told, or in flight
        self._is_torn = False  # an interrupt that leaves a searcher in the middle of something leaves it without proof

    def expect_chance(self, racer: Racer, world: int = 0) -> None:
        """Have violations judged before they are believed; to be called before anything is asked.

        Args:
            racer: Judges them.
            world: Of frozen answers, in which is searched.
        """
        self.racer, self.at, self._told = racer, self.at._replace(world=world), ToldRuns()
        self._asked_before = AskedBefore()  # in which world each trial was is not kept
        self._begin_with(replace(self._problem, by_chance=True, log=None))  # learns judged runs, not those of the log

    def _begin_with(self, problem: Problem) -> None:
        """Make the searcher for a problem, and what goes with it; nothing was asked yet."""
        plan, contract, self._problem = self.plan, self.contract.id, problem
        self.searcher = CheckedSearcher(plan.searcher, problem, plan.searcher_settings)
        for rule in self.given_up:
            self.searcher.give_up(rule)
        waiting = WAITING_MAX_ALL if plan.wants_several else WAITING_MAX
        core, known_to_hold = self.searcher.core, self.searcher.known_to_hold
        self._shrinker = Shrinker(contract, plan.space, waiting_max=waiting, core=core, known_to_hold=known_to_hold)
        self.found = Violations(plan, contract, self._shrinker, self._instability_of, self._kind_of)

    def top_up(self, evaluator: Evaluator) -> None:
        """Ask for as many schedules as the window has room for, once after each tell.

        What shrinks a violation comes first: a cheaper one spares more runs than it costs.
        """
        room = min(self.plan.lookahead - len(self._window), self.plan.limits.trials_max - self._asked)
        if room <= 0 or self.limit_reached or self.found.satisfied or not self._has_answered:
            self.limit_reached = self.limit_reached or self._asked >= self.plan.limits.trials_max
            return
        self._has_answered = False
        while room and self._may_shrink and (wanted := self._next_to_shrink()) is not None:
            self._put(evaluator, Proposal(wanted, Purpose.SHRINK))
            self._shrinking += 1
            room -= 1
        if self.found.satisfied:
            return
        while room > 0 and self._known_elsewhere and EMPTY in self._told:
            self._put(evaluator, Proposal(self._known_elsewhere.popleft(), Purpose.PROBE))
            room -= 1
        self._is_torn = True
        proposals = self._asked_before.ask(self.searcher, room, self._asked)
        self._is_torn = False
        for proposal in proposals:
            self._put(evaluator, proposal)

    def likely(self) -> Iterator[Schedule]:
        """Yield what it will probably ask next."""
        if self.racer is None and not (self.limit_reached or self.found.satisfied or self._shrinker.busy):
            yield from islice(self.searcher.likely(), max(0, self.plan.limits.trials_max - self._asked))

    @property
    def _may_shrink(self) -> bool:
        """Whether not too much of the window is for shrinking: what it asks for at once is partly needless."""
        most = max(1, round(SHRINKING_SHARE * self.plan.lookahead))
        return self._shrinking < most and not self.found.satisfied

    def _next_to_shrink(self) -> Schedule | None:
        """Return what the shrinker wants to have run; what was told already needs no trial."""
        wanted = self._shrinker.take()
        while wanted is not None and wanted in self._told:
            self._shrinker.told(self._told[wanted])
            wanted = self._shrinker.take()
        self.found.count_kinds()
        return wanted

    def _put(self, evaluator: Evaluator, proposal: Proposal) -> None:
        self._asked += 1
        self._window.append(proposal)
        if proposal.policy is None:
            self._known.add(proposal.schedule)
            evaluator.request(self.at, proposal.schedule)
        else:
            evaluator.request_play(self.at, proposal.policy)

    def tell_next(self, evaluator: Evaluator) -> Trial | None:
        """Tell the oldest trial in flight if it has ended, and return it."""
        if not self._window:
            return None
        schedule, purpose, policy = self._window[0]
        evaluation = evaluator.known(self.at, schedule) if policy is None else evaluator.take_played(self.at, policy)
        if evaluation is None:
            return None
        self._window.popleft()
        trial = Trial(self.trials, schedule if policy is None else evaluation.schedule, purpose, evaluation)
        self.trials += 1
        evaluation = self.judged(evaluation)
        self._learn(evaluation)
        if purpose is Purpose.SHRINK:
            self._shrinking -= 1
            self._shrinker.told(evaluation)
            self.found.count_kinds()
        elif purpose is Purpose.EXPLORE or self.plan.wants_several:
            self._shrink(evaluation)
        return trial

    def judged(self, evaluation: Evaluation, world: int | None = None) -> Evaluation:
        """Return a run as the searcher gets it: without a violation that chance may explain."""
        if self.racer is None:
            return evaluation
        world = self.at.world if world is None else world
        told = self.racer.judged(evaluation, cost_max=self.found.cost_wanted, world=world)
        return replace(told, instability=self._instability_of(evaluation.effective or evaluation.schedule))

    def _instability_of(self, schedule: Schedule) -> float:
        return 0.0 if self.racer is None else self.racer.instability_of(schedule)

    @property
    def learns_from_others(self) -> bool:
        """Whether it gains by the runs of other searches of its task and seed; not where answers come by chance."""
        return self.racer is None and self.searcher.learns_from_others

    def observe_other(self, evaluation: Evaluation) -> None:
        """Learn from a run that another search of this task and seed has told; it is no trial of this one.

        What tells nothing of the contract is passed over, and so is what was told already, or soon will be.
        """
        schedule, verdict = evaluation.schedule, evaluation.verdict(self.contract.id)
        if schedule in self._known or evaluation.status is Status.ERROR:
            return
        if verdict is None or verdict.verdict is Verdict.UNKNOWN:
            return
        self.heard += 1
        self._learn(evaluation, self.searcher.observe_other)
        self._shrink(evaluation)

    @property
    def in_flight(self) -> bool:
        """Whether a trial was asked for and not told yet."""
        return bool(self._window)

    def do_what_is_due(self, evaluator: Evaluator) -> bool:
        """Race, audit, or go on in another world, when nothing else is left to do; return whether it was due."""
        if self.due_for_race:
            self.race()
        elif self.due_for_audit:
            self.audit(evaluator)
        elif self.due_for_other_world:
            self.search_other_world()
        else:
            return False
        return True

    @property
    def due_for_race(self) -> bool:
        """Whether something is to be run in further worlds now."""
        if self.racer is None or self.limit_reached or self.found.satisfied or self.found.violated_nominally:
            return False
        if self.trials + self.racer.runs >= self.plan.limits.trials_max:
            return False
        if not self._exhausted and self.racer.runs >= RACE_SHARE * self.trials:
            return False
        return self.racer.due(self.found.cost_wanted, at_last=self._exhausted)

    def race(self) -> None:
        """Run in further worlds what is clean in the first, and take over what is confirmed there."""
        for evaluation in self.racer.race(self.found.cost_wanted, at_last=self._exhausted) if self.racer else []:
            if self.plan.wants_several:
                self.found.keep_minimal(evaluation)
            else:
                self.found.keep_best(evaluation)
        self.found.count_kinds()

    @property
    def due_for_other_world(self) -> bool:
        """Whether all is over but for a world with places that no world that was searched has."""
        return self._exhausted and self._audit_over and not self.due_for_race and self._other_world is not None

    @property
    def _other_world(self) -> int | None:
        if self.racer is None or self.found.satisfied or self.found.violated_nominally or self.is_cut:
            return None
        if self.limit_reached or self._asked >= self.plan.limits.trials_max:
            return None
        return self.racer.next_world(self.found.cost_wanted)

    def search_other_world(self) -> None:
        """Begin anew in another world; what is known of those before stays.

        Where several answers are wanted, the searcher is told first what the known ones do there: behind those that
        break the contract there, too, it need not look.
        """
        world, found = self._other_world, self.found
        assert self.racer is not None
        assert world is not None
        self._floor = self.racer.unseen[0].cost
        self._before = progress_of_both(self._before, self.searcher.progress, self._floor)
        self.racer.search_world(world)
        self.at = self.at._replace(world=world)
        self._begin_with(self._problem)
        found.shrink_with(self._shrinker)
        if self.plan.wants_several:
            self._told = ToldRuns()
            self._known_elsewhere = deque(minimal.effective for minimal in self._shrinker.minimal)
        self.found, self._audit_over, self._has_answered = found, False, True

    def at_of(self, schedule: Schedule) -> TaskSeed:
        """Return task and seed, and the world in which a violation was seen."""
        return self.at if self.racer is None else self.racer.at(schedule)

    def _kind_of(self, schedule: Schedule) -> Signature:
        return self._signature_of(self.at_of(schedule), self.contract, schedule)

    def _shrink(self, evaluation: Evaluation) -> None:
        """Have a violation reduced.

        Where all minimal ones are wanted, those met by certifying, too: a schedule that convergence made unnecessary
        to run may be part of one.
        """
        if evaluation.schedule != EMPTY and violates(evaluation, self.contract.id):
            self._shrinker.add(evaluation)

    def _learn(
        self, evaluation: Evaluation, tell: Callable[[Evaluation], None] | None = None, *, is_audit: bool = False
    ) -> None:
        """Tell one evaluation to the searcher and keep the cheapest violation."""
        self._has_answered = True
        self._known.add(evaluation.schedule)
        if evaluation.status is Status.ERROR:
            self.errors += 1
        elif (verdict := evaluation.verdict(self.contract.id)) is None or verdict.verdict is Verdict.UNKNOWN:
            self.unknown += not is_audit  # as those are not among the runs that the certificate counts
            if not self.unknown_reason or len(evaluation.schedule) < self._unknown_size:
                self._unknown_size = len(evaluation.schedule)
                self.unknown_reason = unknown_reason(evaluation, self.contract)
        self._is_torn = True
        (tell or self.searcher.tell)(evaluation)
        self._is_torn = False
        if self.plan.wants_several:
            self._told.add(evaluation)
        self.found.keep_best(evaluation)

    def audit(self, evaluator: Evaluator) -> None:
        """Execute and tell a random sample of what the rules pruned; over when no rule was withdrawn for it."""
        before = self.searcher.progress.contradictions
        self._is_torn = True
        proposals = [] if self.found.violated_nominally else self.searcher.audit(self.plan.audit)
        self._is_torn = False
        while proposals:
            for proposal in proposals:
                evaluator.request(self.at, proposal.schedule)
            for proposal in proposals:
                evaluation = self.judged(evaluator.evaluate(self.at, proposal.schedule))
                self._learn(evaluation, is_audit=True)
                if self.plan.wants_several:
                    self._shrink(evaluation)
            self._is_torn = True
            proposals = self.searcher.audit_further() if self.searcher.progress.contradictions == before else []
            self._is_torn = False
        self._audit_over = self.searcher.progress.contradictions == before

    def give_up(self, rule: str, contradicted_by: str) -> bool:
        """Search on without a rule that the search for another contract has contradicted, if it was in use."""
        if rule in self.given_up or self.found.violated_nominally or not self.searcher.give_up(rule):
            return False
        self.given_up[rule] = contradicted_by
        self._has_answered, self._audit_over = True, self.limit_reached
        return True

    def stop(self) -> None:
        """End the search where it is; what is in flight is not waited for."""
        self._window.clear()
        self.limit_reached = self._audit_over = True

    @property
    def finished(self) -> bool:
        """Whether nothing is in flight, nothing is left to ask, and what was pruned has been audited."""
        return self._exhausted and self._audit_over and not (self.due_for_race or self._other_world is not None)

    @property
    def due_for_audit(self) -> bool:
        """Whether nothing is in flight and nothing is left to ask, and the audit is open."""
        return self._exhausted and not self._audit_over

    @property
    def _exhausted(self) -> bool:
        if self._window:
            return False
        if self.found.satisfied or self._is_met:
            return True
        if self._asked < self.plan.limits.trials_max and not self.limit_reached and self._shrinker.busy:
            return False
        return self.searcher.finished or self._asked >= self.plan.limits.trials_max or self.limit_reached

    @property
    def _is_met(self) -> bool:
        """Whether a further world has shown what the first one has no cheaper violation than."""
        if self.racer is None or self.found.best is None or self.plan.wants_several:
            return False
        return not self._is_torn and self.searcher.progress.lower_bound >= self.found.best_cost

    @property
    def lower_bound(self) -> float:
        """Nothing cheaper than this breaks the contract, as far as is proved now."""
        return self.progress.lower_bound

    @property
    def progress(self) -> SearchProgress:
        """How far the search has come, in all worlds that it looked at."""
        progress = SearchProgress() if self._is_torn else self.searcher.progress
        if self.racer is None:
            return progress
        return self.racer.bounded(progress_of_both(self._before, progress, self._floor), self.found.cost_wanted)

    @property
    def is_cut(self) -> bool:
        """Whether something was left to do in the world that is searched."""
        if self._is_torn or self.found.satisfied:
            return self._is_torn
        raced = self.racer is None or self.found.violated_nominally or not self.racer.due(self.found.cost_wanted)
        return not (raced and (self.searcher.finished or self._is_met))
