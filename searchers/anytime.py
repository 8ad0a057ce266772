"""Finds fast and proves: two streams on one set of runs.

The upper stream puts many faults into one run and has what breaks shrunk, so the best counterexample so far is known
early. The lower stream is the exact search, which proves that nothing cheaper exists. Each learns from the runs of the
other. The search ends when they meet: then the counterexample is certified, as by `exact`.
"""

from __future__ import annotations

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.exploring.covering import CoveringStream
from chaosagent.searchers.exploring.effects import Effects
from chaosagent.searchers.exploring.packing import Packer
from chaosagent.searchers.proof.frontier import Family
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.searchers.seen.points import Expander
from chaosagent.searchers.seen.told import Told
from chaosagent.seeds import derive
from chaosagent.study.minimise import violates
from chaosagent.study.searcher import Problem, Proposal, Purpose, Standing

SHARE_MIN, SHARE_MAX, SHARE_AFTER = 0.06, 0.5, 0.25
"""Share of the upper stream: the more is left for the lower one to do, the larger; and its most behind a violation."""

BURST, SHARE_BURST = 16, 0.8
"""How many of the first trials find as many faults as they can, and the share of the upper stream meanwhile."""

HALF_LIFE = 60.0
"""After so many trials that brought nothing new the share of the upper stream is half of what it was."""

OUTAGES, FEW = 0.3, 0.35
"""Shares of the upper stream before the first violation, after those trials: that does not follow known states while
there are calls that never failed throughout, and makes half of its schedules for them; and, of the rest, for schedules
of few faults."""

PLUNGES = 0.9
"""Share of the upper stream that follows known states, where there are checkpoints."""

CAPPED = 0.4
"""Share of those that cost less than the best violation; others may hold a cheaper one."""

WAITING_FULL = 500
"""How many schedules wait for the lower stream when the upper one has its whole share."""


class AnytimeSearcher:
    """Finds violations with dense schedules, and proves with the exact search what is the cheapest.

    Args:
        problem: What is searched.
        r1: Use rule R1 of the exact search.
        r2: Use rule R2.
        r3: Use rule R3.
    """

    def __init__(self, problem: Problem, *, r1: bool = True, r2: bool = True, r3: bool = True) -> None:
        self._problem = problem
        self._families: list[Family] = []
        self._lower = ExactSearcher(problem, r1=r1, r2=r2, r3=r3)
        self._lower.on_family = self._families.append
        expander = (
            self._lower.expander if r2 else Expander(problem.space, problem.seed, kinds_matter=problem.kinds_matter)
        )
        self._upper = CoveringStream(problem, self._lower.states, expander)
        self._effects = Effects(self._lower.states)
        self._packer = Packer(self._lower.states, self._upper.reactions)
        self._violated = False
        self._novelties = self._new_at = 0

    def ask(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        self._lower.settle()
        while len(proposals) < count and not self._lower.finished:
            proposal = self._next()
            if proposal is None:
                break
            self._told.out.add(proposal.schedule)
            proposals.append(proposal)
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        schedule = evaluation.schedule
        is_new = schedule not in self._told
        self._lower.tell(evaluation)
        if not is_new:
            return
        self._upper.learn(evaluation)
        violated = violates(evaluation, self._problem.contract)
        self._effects.learn(evaluation, violated=violated)
        self._violated = self._violated or violated
        novelties = self._upper.novelties + self._effects.count
        if novelties > self._novelties:
            self._novelties, self._new_at = novelties, len(self._told)
        self._lower.settle()
        for family in self._families:
            self._packer.add(family)
        self._families.clear()
        self._packer.told(schedule, self._lower.lower_bound, self._lower.affordable)

    @property
    def _told(self) -> Told:
        return self._lower.told

    @property
    def finished(self) -> bool:
        return self._lower.finished

    @property
    def standing(self) -> Standing:
        return self._lower.standing

    def core(self, evaluation: Evaluation) -> Schedule:
        """Return the injections of a run that most likely matter, as far as checkpoints show it."""
        return self._lower.states.core(evaluation) if evaluation.fingerprints else evaluation.effective

    def audit(self, count: int) -> list[Proposal]:
        return self._lower.audit(count)

    def _next(self) -> Proposal | None:
        """Return what one stream wants, drawn by their shares; what the other wants when that one waits."""
        number = len(self._told) + len(self._told.out)
        rng = derive(self._problem.search_seed, "anytime", number)
        upper_first = EMPTY in self._told and rng.random() < self._share(number)
        for is_upper in (upper_first, not upper_first):
            found = self._from_upper(number) if is_upper else self._from_lower(number)
            if found is not None:
                return found
        return None

    def _share(self, number: int) -> float:
        if self._problem.by_chance:
            return SHARE_MIN  # what breaks one world of frozen answers is a flake more often than not
        if not self._violated and (number < BURST or self._upper.has_new_interface):
            return SHARE_BURST
        wanted = SHARE_MAX * self._lower.waiting / WAITING_FULL
        since: float = 0.5 ** ((len(self._told) - self._new_at) / HALF_LIFE)
        return max(SHARE_MIN, since * min(wanted, SHARE_AFTER if self._violated else SHARE_MAX))

    def _from_upper(self, number: int) -> Proposal | None:
        if EMPTY not in self._told:
            return None
        rng = derive(self._problem.search_seed, "anytime", "cover", number)
        is_outage = False
        if number >= BURST and not self._violated:
            is_outage = rng.random() < OUTAGES and self._upper.has_unstruck
            few = None if is_outage or rng.random() >= FEW else self._upper.propose_few(rng, self._told.is_taken)
            if few is not None:
                return Proposal(few, Purpose.EXPLORE)
        if number >= BURST and not is_outage and rng.random() < PLUNGES:
            far = self._effects.draw(self._upper.fits if rng.random() < CAPPED else self._upper.tells, rng)
            if far != EMPTY and not self._told.is_taken(far):
                return Proposal(far, Purpose.EXPLORE)
        drawn = self._upper.propose(rng, self._told.is_taken)
        return None if drawn is None else Proposal(drawn, Purpose.EXPLORE)

    def _from_lower(self, number: int) -> Proposal | None:
        if self._packer.has_questions and self._lower.next_is_unknown:
            rng = derive(self._problem.search_seed, "anytime", "pack", number)
            pack = self._packer.pack(rng)
            if pack is not None and not self._told.is_taken(pack.schedule):
                self._packer.ask(pack)
                return Proposal(pack.schedule, Purpose.PROBE if self._violated else Purpose.EXPLORE)
        while found := self._lower.ask(1):
            if found[0].schedule not in self._told.out:
                return found[0]
        return None
