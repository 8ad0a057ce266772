"""A searcher behind a check: what a plug-in raises or returns is its own mistake, and what it claims is compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NoReturn, TypeVar

from chaosagent.canonical import Plain
from chaosagent.errors import ChaosAgentError, SearcherError
from chaosagent.execution.crash_location import with_place
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection
from chaosagent.faults.online import Policy
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.searcher import (
    FREE,
    AuditsFurther,
    Core,
    ForeseesTrials,
    GivesUpRules,
    KnowsCauses,
    KnowsOutcomes,
    LearnsFromOthers,
    Problem,
    Proposal,
    Purpose,
    RecallsTrials,
    Searcher,
    SearchProgress,
    factory_of,
)
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimise import KnownToHold, violates
from chaosagent.vocabulary import Verdict

T = TypeVar("T")
LEVELS = ("C0", "C1", "C2", "C3", "C4")
METHODS = ("ask", "tell", "audit")
PROPERTIES = ("finished", "progress")
PAIRS_MAX = 50_000
"""How many pairs of injections that stand in the right order are remembered; then all are forgotten."""

SHOWN_MAX = 200
MADE_OTHERWISE = "which was not made by chaosagent.faults.schedule.schedule"


class CheckedSearcher:
    """Asks and tells a searcher, and checks what it returns.

    A bound is not believed blindly: it stays at 0 until the run without injections was told, at most at the cost of the
    cheapest trial that told nothing, and says nothing any more once a violation was told that is cheaper than the
    searcher had claimed possible.

    Args:
        name: Of the searcher, as the study names it.
        problem: What is searched.
        settings: Its own.

    Attributes:
        name: Of the searcher.
        core: How it tells which injections of a run matter, `None` when it cannot.
        known_to_hold: How it tells which schedules do not break the contract, `None` when it cannot.
        disproved: What it claimed and what was told, without a full stop; empty while nothing contradicts.

    Raises:
        UsageError: It has no such setting, or a value is not allowed.
        SearcherError: The searcher cannot be made, or lacks a method; so do all methods when it raises, or returns what
            it must not. After that it is not called again, and nothing that it claimed counts.
    """

    def __init__(self, name: str, problem: Problem, settings: Mapping[str, Plain]) -> None:
        self.name, self._problem = name, problem
        self.disproved = ""
        self._broken = self._knows_nominal = False
        self._best_cost = self._unknown_cost = math.inf
        self._within: set[Injection] = set()
        self._in_order: set[tuple[Injection, Injection]] = set()
        factory = factory_of(name)
        check_settings(name, factory, settings)
        self._searcher: Searcher = self._called("its constructor", lambda: factory(problem, **settings))
        for method in METHODS:
            if not callable(getattr(self._searcher, method, None)):
                self._refuse(method, f"is missing: {type(self._searcher).__name__} has no such method")
        for member in PROPERTIES:
            if member not in dir(self._searcher):
                self._refuse(member, f"is missing: {type(self._searcher).__name__} has no such property")
        self.core = self._core()
        self.known_to_hold = self._known_to_hold()
        self._recalling = self._searcher if isinstance(self._searcher, RecallsTrials) else None
        self._hear = self._searcher.observe_other if isinstance(self._searcher, LearnsFromOthers) else None

    def _core(self) -> Core | None:
        known = self._searcher
        if not isinstance(known, KnowsCauses):
            return None

        def core(evaluation: Evaluation) -> Schedule:
            found = self._called("core", lambda: known.core(evaluation))
            if not isinstance(found, Schedule):
                self._refuse("core", f"returned {_shown(found)}, not a Schedule")
            return found

        return core

    def _known_to_hold(self) -> KnownToHold | None:
        known = self._searcher
        if not isinstance(known, KnowsOutcomes):
            return None

        def known_to_hold(schedule: Schedule) -> bool:
            if self._broken:
                return False
            found = self._called("known_to_hold", lambda: known.known_to_hold(schedule))
            if not isinstance(found, bool):
                self._refuse("known_to_hold", f"returned {_shown(found)}, not true or false")
            return found

        return known_to_hold

    def ask(self, count: int) -> list[Proposal]:
        """Return at most `count` proposals."""
        if self._broken:
            return []
        proposals = self._checked("ask", self._called("ask", lambda: self._searcher.ask(count)))
        if len(proposals) > count:
            self._refuse("ask", f"returned {len(proposals)} proposals; it was asked for at most {count}")
        return proposals

    def ask_as_before(self, proposal: Proposal, left: int) -> list[Proposal]:
        """Return at most one proposal, which an earlier session has stored; see `RecallsTrials`."""
        known = self._recalling
        if self._broken or known is None:
            return self.ask(1)
        return self._checked(
            "ask_as_before", self._called("ask_as_before", lambda: known.ask_as_before(proposal, left))
        )

    def likely(self) -> Iterator[Schedule]:
        """Yield what the searcher will probably ask; nothing where it cannot say."""
        known = self._searcher
        if self._broken or not isinstance(known, ForeseesTrials):
            return
        following = self._called("likely", lambda: iter(known.likely()))
        while (found := self._called("likely", lambda: next(following, None))) is not None:
            if not isinstance(found, Schedule):
                self._refuse("likely", f"yielded {_shown(found)}, not a Schedule")
            yield found

    def audit(self, count: int) -> list[Proposal]:
        """Return what is to be run as a check on the rules."""
        if self._broken:
            return []
        return self._checked("audit", self._called("audit", lambda: self._searcher.audit(count)))

    def audit_further(self) -> list[Proposal]:
        """Return what is to be run behind an audit, empty where a searcher knows of nothing."""
        known = self._searcher
        if self._broken or not isinstance(known, AuditsFurther):
            return []
        return self._checked("audit_further", self._called("audit_further", lambda: known.audit_further()))

    def give_up(self, rule: str) -> bool:
        """Have it search anew without a rule; return whether it can, and had used it."""
        known = self._searcher
        if self._broken or not isinstance(known, GivesUpRules):
            return False
        return self._called("give_up", lambda: known.give_up(rule)) is True

    def tell(self, evaluation: Evaluation) -> None:
        """Tell what a schedule did, and compare it with what the searcher claimed."""
        self._take("tell", self._searcher.tell, evaluation)

    @property
    def learns_from_others(self) -> bool:
        """Whether it is to be told the runs of other searches, too."""
        return self._hear is not None

    def observe_other(self, evaluation: Evaluation) -> None:
        """Tell what a schedule did that another search has asked for; not one that does not learn from others."""
        if self._hear is not None:
            self._take("hear", self._hear, evaluation)

    def _take(self, method: str, tell: Callable[[Evaluation], None], evaluation: Evaluation) -> None:
        if self._broken:
            return
        cost = self._cost_if_best(evaluation)
        claimed = self.progress if cost is not None and not self._problem.by_chance else None
        self._called(method, lambda: tell(evaluation))
        self._note(evaluation)
        if cost is None:
            return
        self._best_cost = cost
        is_false = claimed is not None and cost < claimed.lower_bound - COST_TOLERANCE
        # One that counts it as a contradiction has withdrawn a rule, and searches what that has pruned.
        if claimed is not None and is_false and self._progress().contradictions == claimed.contradictions:
            self._disprove(claimed.lower_bound, cost)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to ask."""
        if self._broken:
            return False
        found: object = self._called("finished", lambda: self._searcher.finished)
        if not isinstance(found, bool):
            hint = " Write @property above it" if callable(found) else ""
            self._refuse("finished", f"is {_shown(found)}, neither True nor False.{hint}")
        return found

    @property
    def progress(self) -> SearchProgress:
        """How far the searcher has come, as far as nothing that was told contradicts it."""
        if self._broken:
            return SearchProgress()
        progress = self._progress()
        if self._problem.by_chance:
            return progress
        if not self._problem.all_minimal and progress.lower_bound > self._best_cost + COST_TOLERANCE:
            self._disprove(progress.lower_bound, self._best_cost)
        bound = 0.0 if self.disproved or not self._knows_nominal else min(progress.lower_bound, self._unknown_cost)
        if bound == progress.lower_bound:
            return progress
        return replace(progress, lower_bound=bound, level=progress.level if bound > 0.0 else "C0")

    def refuse_waiting(self) -> NoReturn:
        """Say that the searcher has not finished and asks for nothing, while nothing is out.

        Raises:
            SearcherError: Always.
        """
        self._refuse(
            "ask", "returned nothing although nothing is out, and `finished` is False: the study would wait for ever"
        )

    # ------------------------------------------------------------------ what it was told

    def _cost_if_best(self, evaluation: Evaluation) -> float | None:
        """Return what a violation costs if it is cheaper than all that were told before; `None` otherwise.

        Also `None` for one above the budget, of which no claim says anything.
        """
        if not violates(evaluation, self._problem.contract):
            return None
        cost = evaluation.effective.declared_cost(self._problem.space.model)
        return cost if cost < min(self._best_cost, self._problem.budget + COST_TOLERANCE) else None

    def _note(self, evaluation: Evaluation) -> None:
        """Note what bounds every claim: the run without injections, and what told nothing of the contract."""
        self._knows_nominal = self._knows_nominal or evaluation.schedule == EMPTY
        model = self._problem.space.model
        if evaluation.status is Status.ERROR:
            self._unknown_cost = min(self._unknown_cost, evaluation.schedule.declared_cost(model))
            return
        verdict = evaluation.verdict(self._problem.contract)
        if verdict is None or verdict.verdict is Verdict.UNKNOWN:
            self._unknown_cost = min(self._unknown_cost, evaluation.effective.declared_cost(model))

    def _disprove(self, claimed: float, cost: float) -> None:
        bound = f"cheaper than {claimed:g}" if math.isfinite(claimed) else "within the budget"
        self.disproved = (
            f"searcher {self.name!r} claimed that nothing {bound} breaks the contract (progress.lower_bound), and a "
            f"schedule of cost {cost:g} does"
        )

    # ------------------------------------------------------------------ what it returned

    def _progress(self) -> SearchProgress:
        found: object = self._called("progress", lambda: self._searcher.progress)
        if not isinstance(found, SearchProgress):
            hint = " Write @property above it" if callable(found) else ""
            self._refuse("progress", f"is {_shown(found)}, not a SearchProgress.{hint}")
        bound: object = found.lower_bound
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not bound >= 0.0:  # a NaN is neither
            self._refuse("progress", f"has lower_bound={_shown(bound)}; it must be a number of at least 0")
        if found.level not in LEVELS:
            self._refuse("progress", f"has level={_shown(found.level)}; it must be one of {', '.join(LEVELS)}")
        return found

    def _checked(self, method: str, found: object) -> list[Proposal]:
        if not isinstance(found, list):
            self._refuse(method, f"returned {_shown(found)}, not a list of Proposals")
        for proposal in found:
            if not isinstance(proposal, Proposal):
                hint = ": write Proposal(schedule)" if isinstance(proposal, Schedule) else ""
                self._refuse(method, f"returned {_shown(proposal)} among its proposals, which is no Proposal{hint}")
            self._check(method, proposal)
        return found

    def _check(self, method: str, proposal: Proposal) -> None:
        schedule, purpose, policy = proposal
        given: tuple[object, ...] = proposal
        if not isinstance(given[0], Schedule) or not isinstance(given[1], Purpose):
            self._refuse(method, f"proposed {_shown(proposal)}; it takes a Schedule and a Purpose")
        if policy is not None and not isinstance(policy, Policy):
            self._refuse(method, f"proposed the policy {_shown(policy)}, which is no Policy")
        injections: object = schedule.injections
        if not isinstance(injections, tuple):
            self._refuse(method, f"proposed a schedule of {_shown(injections)}, {MADE_OTHERWISE}")
        for injection in injections:
            if not isinstance(injection, Injection) or injection not in self._within:
                self._check_injection(method, injection)
        for pair in pairwise(schedule):
            if pair not in self._in_order:
                self._check_order(method, schedule, *pair)
        if purpose not in FREE:
            cost, budget = schedule.declared_cost(self._problem.space.model), self._problem.budget
            if cost > budget + COST_TOLERANCE:
                self._refuse(
                    method,
                    f"proposed {schedule} of cost {cost:g} for the purpose {purpose.value!r}, above the budget of "
                    f"{budget:g}; only what explores or probes may be dearer",
                )

    def _check_injection(self, method: str, injection: object) -> None:
        if not isinstance(injection, Injection):
            self._refuse(method, f"proposed a schedule of {_shown(injection)}, which is no Injection")
        hook = injection.hook
        if not hook.single:
            self._refuse(method, f"proposed {injection}, which is no injection at one place")
        allowed = self._problem.space.at(hook.boundary, hook.interface, hook.agent)
        if all(priced.operator != injection.operator for priced in allowed):
            self._refuse(method, f"proposed {injection}, which lies outside of the space (problem.space.at)")
        self._within.add(injection)

    def _check_order(self, method: str, schedule: Schedule, one: Injection, other: Injection) -> None:
        """Refuse what equals no schedule that was made as it should be, and so would count as another one."""
        if one.hook == other.hook or str(one) >= str(other):  # those at one place stand side by side when sorted
            self._refuse(method, f"proposed {schedule}, out of order or with two at one place, {MADE_OTHERWISE}")
        if len(self._in_order) >= PAIRS_MAX:
            self._in_order.clear()
        self._in_order.add((one, other))

    # ------------------------------------------------------------------ calling it

    def _called(self, method: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except ChaosAgentError:  # said on purpose: a setting, a missing package, a target that contradicts itself
            self._broken = True
            raise
        except (Exception, SystemExit) as error:  # a plug-in's mistake must not look like one of chaosagent
            self._broken = True
            raise SearcherError(self.name, method, f"raised {with_place(error)}") from error

    def _refuse(self, method: str, what: str) -> NoReturn:
        self._broken = True
        raise SearcherError(self.name, method, what)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # an object of the plug-in that cannot say what it is
        text = f"something of the type {type(value).__name__}"
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}... {len(text) - SHOWN_MAX} more characters"
