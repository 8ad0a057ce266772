"""Finds fast and proves: two streams on one set of runs.

The upper stream puts many faults into one run and has what breaks shrunk, so the best counterexample so far is known
early. The lower stream is the exact search, which proves that nothing cheaper exists. Each learns from the runs of the
other. The search ends when they meet: then the counterexample is certified, as by `exact`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import count

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.exact import SearchOfIntervals
from chaosagent.searchers.exploring.covering import CoveringStream
from chaosagent.searchers.exploring.effects import Effects
from chaosagent.searchers.exploring.packing import Packer
from chaosagent.searchers.exploring.unfollowed import UnfollowedStates
from chaosagent.searchers.proof.bisection import Certifying, ObservingBisector
from chaosagent.searchers.proof.frontier import Family
from chaosagent.searchers.seen.points import expander_of
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.seeds import Streams
from chaosagent.study.searcher import FREE, Problem, Proposal, Purpose, SearchProgress
from chaosagent.study.shrinking.minimise import violates

SHARE_MIN, SHARE_MAX, SHARE_AFTER = 0.06, 0.5, 0.25
"""Share of the upper stream: the more is left for the lower one to do, the larger; and its most behind a violation."""

BURST, SHARE_BURST = 12, 0.8
"""How many of the first trials find as many faults as they can, and the share of the upper stream meanwhile."""

SHARE_OPEN = 0.55
"""Share of the upper stream before the first violation, while there are states that no run has followed undisturbed, or
effects that were not seen together."""

NEW_INTERFACES = 0.5
"""Share of the upper stream before the first violation that is for interfaces which the run without injections never
uses, while something there was not tried."""

UNHEEDED = 0.25
"""Share of the rest that does not look at states: on many targets nearly all of them differ."""

UNFOLLOWED = 0.5
"""Share of the rest that shows what a state comes to which some run passed."""

HALF_LIFE = 60.0
"""After so many trials that brought nothing new the share of the upper stream is half of what it was."""

OUTAGES, FEW = 0.3, 0.35
"""Shares of what does not look at states: while there are calls that never failed throughout, that of dense schedules,
half of which are made for them; and, of the rest, that of schedules of few faults."""

PLUNGES = 0.9
"""Share of the upper stream that follows known states, where there are checkpoints."""

CAPPED = 0.4
"""Share of those that cost less than the best violation; others may hold a cheaper one."""

WAITING_FULL = 500
"""How many schedules wait for the lower stream when the upper one has its whole share."""


def anytime(
    problem: Problem, *, r1: bool = True, r2: bool = True, r3: bool = True, monotone: bool = False
) -> Certifying:
    """Find violations with dense schedules, and prove with the exact search what is the cheapest.

    Args:
        problem: What is searched.
        r1: Use rule R1 of the exact search.
        r2: Use rule R2.
        r3: Use rule R3; without fingerprints it does nothing.
        monotone: Rely on the operators that declare a parameter `monotone`; not used where every minimal counterexample
            is wanted.
    """
    rules = {"R1": r1, "R2": r2, "R3": r3}
    return ObservingBisector(problem, rules, _plain) if monotone and not problem.all_minimal else _plain(problem, rules)


def _plain(problem: Problem, rules: Mapping[str, bool]) -> AnytimeSearcher:
    return AnytimeSearcher(problem, r1=rules["R1"], r2=rules["R2"], r3=rules["R3"])


class AnytimeSearcher:
    """The two streams.

    Args:
        problem: What is searched.
        r1: Use rule R1 of the exact search.
        r2: Use rule R2.
        r3: Use rule R3.
    """

    def __init__(self, problem: Problem, *, r1: bool = True, r2: bool = True, r3: bool = True) -> None:
        self._problem = problem
        self._families: list[Family] = []
        self._lower = SearchOfIntervals(problem, r1=r1, r2=r2, r3=r3)
        self._lower.on_family = self._families.append
        expander = (
            self._lower.expander if r2 else expander_of(problem.space, problem.seed, kinds_matter=problem.kinds_matter)
        )
        self._upper = CoveringStream(problem, self._lower.states, expander)
        self._effects = Effects(self._lower.states)
        self._unfollowed = UnfollowedStates(self._lower.states)
        self._packer = Packer(self._lower.states, self._upper.reactions)
        self._violated = False
        self._novelties = self._new_at = 0
        self._heard = self._recalled_left = 0
        self._shares = Streams(problem.search_seed, "anytime")
        self._covers = Streams(problem.search_seed, "anytime", "cover")
        self._packs = Streams(problem.search_seed, "anytime", "pack")
        self._allows_two = 2 * problem.space.cost_min <= problem.budget + COST_TOLERANCE

    def ask(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        self._recalled_left = self._recalled_left if count == 0 else 0
        self._lower.settle()
        while len(proposals) < count and not self._lower.finished:
            proposal = self._next()
            if proposal is None:
                break
            self._told.out.add(proposal.schedule)
            proposals.append(proposal)
        return proposals

    def ask_as_before(self, proposal: Proposal, left: int) -> list[Proposal]:
        """Return what it has asked before (`RecallsTrials`), without drawing it again where it was drawn."""
        self._lower.settle()
        found: list[Proposal] = []
        if proposal.purpose in FREE and not self._lower.finished and not self._told.is_taken(proposal.schedule):
            found = [proposal]
        elif proposal.purpose is Purpose.CERTIFY:
            found = [one for one in self._lower.ask(1) if one.schedule not in self._told.out]
        if not found:
            return self.ask(1)
        self._recalled_left = left
        self._told.out.add(found[0].schedule)
        return found

    def likely(self) -> Iterator[Schedule]:
        """Yield what is asked next unless a run before it says otherwise (`ForeseesTrials`)."""
        if EMPTY not in self._told:
            return
        lower, first = self._lower.likely(), len(self._told) + len(self._told.out)
        for number in count(first):
            drawn = None
            if self._shares.at(number).random() < self._own_share(self._share(number)):
                drawn = self._from_upper(number)
            following = drawn.schedule if drawn is not None else next(lower, None)
            if following is None:
                return
            if following not in self._told.out:
                yield following

    def tell(self, evaluation: Evaluation) -> None:
        schedule = evaluation.schedule
        is_new = schedule not in self._told
        self._lower.tell(evaluation)
        if not is_new:
            return
        self._upper.learn(evaluation)
        violated = violates(evaluation, self._problem.contract)
        self._effects.learn(evaluation, violated=violated)
        self._unfollowed.learn()
        self._violated = self._violated or violated
        novelties = self._upper.novelties + self._effects.count
        if novelties > self._novelties:
            self._novelties, self._new_at = novelties, len(self._told)
        self._lower.settle()
        for family in self._families:
            self._packer.add(family)
        self._families.clear()
        bound, affordable = self._lower.lower_bound, self._lower.affordable
        self._packer.told(schedule, bound, affordable, further=self._recalled_left)

    def observe_other(self, evaluation: Evaluation) -> None:
        """Learn from a run that a search for another contract has asked for.

        Such runs count as explored, so that all such searches together explore as much as one of them would.
        """
        self._heard += evaluation.schedule not in self._told
        self.tell(evaluation)

    @property
    def _told(self) -> TrialLog:
        return self._lower.told

    def settle(self) -> None:
        """Do everything that needs no run."""
        self._lower.settle()

    @property
    def waiting(self) -> int:
        """How many schedules may still have to be run, as far as is known now."""
        return self._lower.waiting

    @property
    def rules(self) -> Mapping[str, bool]:
        """The rules, and whether they are in use."""
        return self._lower.rules

    @property
    def finished(self) -> bool:
        return self._lower.finished

    @property
    def progress(self) -> SearchProgress:
        return self._lower.progress

    def core(self, evaluation: Evaluation) -> Schedule:
        """Return the injections of a run that most likely matter, as far as checkpoints show it."""
        return self._lower.states.core(evaluation) if evaluation.fingerprints else evaluation.effective

    def known_to_hold(self, schedule: Schedule) -> bool:
        """Whether other runs have shown that a run of a schedule does not break the contract."""
        return self._lower.known_to_hold(schedule)

    def audit(self, count: int) -> list[Proposal]:
        return self._lower.audit(count)

    def audit_further(self) -> list[Proposal]:
        """Return what is to be run behind an audit (`AuditsFurther`)."""
        return self._lower.audit_further()

    def give_up(self, rule: str) -> bool:
        """Search anew without a rule; return whether it was in use (`GivesUpRules`)."""
        return self._lower.give_up(rule)

    def _next(self) -> Proposal | None:
        """Return what one stream wants, drawn by their shares; what the other wants when that one waits."""
        number = len(self._told) + len(self._told.out)
        rng = self._shares.at(number)
        upper_first = EMPTY in self._told and rng.random() < self._own_share(self._share(number))
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
        since: float = 0.5 ** ((len(self._told) - self._new_at) / HALF_LIFE)
        if not self._violated and (self._unfollowed.count or self._effects.has_fresh):
            return max(SHARE_MIN, since * SHARE_OPEN)
        wanted = SHARE_MAX * self._lower.waiting / WAITING_FULL
        return max(SHARE_MIN, since * min(wanted, SHARE_AFTER if self._violated else SHARE_MAX))

    def _own_share(self, share: float) -> float:
        """Return the share of the upper stream among what is asked here, when all that was explored is to have one."""
        own = len(self._told) - self._heard
        if not (self._heard and own):
            return share
        return max(SHARE_MIN * own / len(self._told), share - (1.0 - share) * self._heard / own)

    def _from_upper(self, number: int) -> Proposal | None:
        if EMPTY not in self._told or not self._allows_two:  # of many faults it would keep a single one
            return None
        rng = self._covers.at(number)
        if number < BURST or self._violated:
            return self._dense(rng, follows=number >= BURST)
        if self._upper.has_new_interface and rng.random() < NEW_INTERFACES:
            return self._dense(rng, follows=False)
        if rng.random() < UNHEEDED:
            return self._outage_or_few(rng)
        if rng.random() < UNFOLLOWED and (short := self._unfollowed.draw(rng, self._told.is_taken)) is not None:
            return Proposal(short, Purpose.EXPLORE)
        if self._effects.has_fresh and rng.random() < PLUNGES and (far := self._far(rng)) is not None:
            return far
        return self._outage_or_few(rng)

    def _outage_or_few(self, rng: random.Random) -> Proposal | None:
        """Return an outage, a schedule of few faults, or else one of many."""
        is_outage = rng.random() < OUTAGES and self._upper.has_unstruck
        few = None if is_outage or rng.random() >= FEW else self._upper.propose_few(rng, self._is_known)
        return Proposal(few, Purpose.EXPLORE) if few is not None else self._dense(rng, follows=not is_outage)

    def _dense(self, rng: random.Random, *, follows: bool) -> Proposal | None:
        """Return a schedule of many faults, mostly one that follows known states where that is wanted."""
        if follows and rng.random() < PLUNGES and (far := self._far(rng)) is not None:
            return far
        drawn = self._upper.propose(rng, self._is_known)
        return None if drawn is None else Proposal(drawn, Purpose.EXPLORE)

    def _far(self, rng: random.Random) -> Proposal | None:
        """Return a schedule that leaves behind much that was not seen together."""
        far = self._effects.draw(self._upper.fits if rng.random() < CAPPED else self._upper.tells, rng)
        return None if far == EMPTY or self._is_known(far) else Proposal(far, Purpose.EXPLORE)

    def _is_known(self, schedule: Schedule) -> bool:
        return self._told.is_taken(schedule) or self.known_to_hold(schedule)

    def _from_lower(self, number: int) -> Proposal | None:
        if self._allows_two and self._packer.has_questions and self._lower.next_is_unknown:
            rng = self._packs.at(number)
            pack = self._packer.pack(rng)
            if pack is not None and not self._told.is_taken(pack.schedule):
                self._packer.ask(pack)
                return Proposal(pack.schedule, Purpose.PROBE if self._violated else Purpose.EXPLORE)
        while found := self._lower.ask(1):
            if found[0].schedule not in self._told.out:
                return found[0]
        return None
