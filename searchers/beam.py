"""Beam search over sequences of injections: the most promising runs of each length get one more injection.

Of the runs with the same number of injections those go on that came closest to a violation, and of equally close ones
the cheapest. When the longest are done the beam moves on to the next best of each length, so nothing is cut off for
good: given time, all sequences within depth and budget are run.

Sources: Lowerre 1976 (beam search); Ginsberg and Harvey 1992 (iterative broadening).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.operator import COST_DECIMALS
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, Schedule
from chaosagent.searchers.seen.ceiling import Ceiling
from chaosagent.searchers.seen.course import State
from chaosagent.searchers.seen.points import expander_of
from chaosagent.searchers.seen.pool import margin_of
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.study.searcher import Problem, Proposal, SearchProgress
from chaosagent.study.searcher_settings import Within

WIDTH_MAX = 10_000


class Rank(NamedTuple):
    """The place of a run among those with as many injections; lower goes on first.

    Attributes:
        margin: How far it was from a violation.
        cost: Of its injections.
        text: Of its schedule, so that ties are broken in the same way everywhere.
    """

    margin: float
    cost: float
    text: str


class _Level:
    """The runs with the same number of injections that have not gone on yet."""

    def __init__(self) -> None:
        self._fresh: list[tuple[Rank, Evaluation]] = []
        self._stale: list[tuple[Rank, Evaluation]] = []

    def __bool__(self) -> bool:
        return bool(self._fresh or self._stale)

    def add(self, rank: Rank, evaluation: Evaluation) -> None:
        heapq.heappush(self._fresh, (rank, evaluation))

    def take(self, width: int, marks: set[State], monitor: int) -> Iterator[tuple[Rank, Evaluation]]:
        """Yield the best runs; those that have only come to a state that is known come last."""
        while width and self:
            if not self._fresh:
                yield heapq.heappop(self._stale)
                width -= 1
                continue
            rank, evaluation = heapq.heappop(self._fresh)
            behind = evaluation.final_fingerprints[:1]
            if behind and (behind[0].common, behind[0].monitors[monitor]) in marks:
                heapq.heappush(self._stale, (rank, evaluation))
                continue
            marks.update((one.common, one.monitors[monitor]) for one in evaluation.fingerprints)
            yield rank, evaluation
            width -= 1


class BeamSearcher:
    """Adds injections in the order in which they act (rule R1), one at a time, to the best runs of each length.

    Args:
        problem: What is searched.
        width: How many runs of the same length go on at a time.
        depth: Most injections of one schedule.

    Determinism: it draws nothing.
    """

    name = "beam"

    def __init__(
        self,
        problem: Problem,
        *,
        width: Annotated[int, Within(1, WIDTH_MAX)] = 8,
        depth: Annotated[int, Within(1, INJECTIONS_MAX)] = 8,
    ) -> None:
        self._problem = problem
        self._width = width
        self._levels = [_Level() for _ in range(depth)]
        self._expander = expander_of(problem.space, problem.seed, kinds_matter=problem.kinds_matter)
        self._known = Ceiling(problem)
        self._told = TrialLog(problem.log)
        self._marks: set[State] = set()
        self._wanted: dict[Schedule, float] = {EMPTY: 0.0}
        self._next_level = 0

    def ask(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        for schedule, cost in self._wanted.items():
            if len(proposals) >= count:
                break
            if schedule not in self._told.out and self._is_of_use(schedule, cost):
                proposals.append(self._told.propose(schedule))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        if not self._told.take(evaluation):
            return
        self._wanted.pop(evaluation.schedule, None)
        violated = self._known.learn(evaluation)
        length = len(evaluation.schedule)
        is_whole = evaluation.status is Status.OK and evaluation.effective == evaluation.schedule
        if is_whole and not violated and length < len(self._levels):
            margin = margin_of(evaluation, self._problem.contract)
            cost = evaluation.schedule.declared_cost(self._problem.space.model)
            self._levels[length].add(Rank(margin, cost, str(evaluation.schedule)), evaluation)
        if violated:
            self._wanted = {one: cost for one, cost in self._wanted.items() if self._is_of_use(one, cost)}
        if not self._wanted:
            self._go_on()

    @property
    def finished(self) -> bool:
        return not self._wanted and not self._told.out

    @property
    def progress(self) -> SearchProgress:
        return SearchProgress()

    def audit(self, count: int) -> list[Proposal]:
        del count  # it prunes nothing
        return []

    def _is_of_use(self, schedule: Schedule, cost: float) -> bool:
        return cost <= self._known.cost and not self._known.holds_known(schedule)

    def _go_on(self) -> None:
        """Have the best runs of a length go on: the next length first, then from the shortest again.

        Runs that can have no children are passed over, until something is wanted or no run is left.
        """
        while not self._wanted and any(self._levels):
            level = self._levels[self._next_level]
            self._next_level = (self._next_level + 1) % len(self._levels)
            for rank, evaluation in level.take(self._width, self._marks, self._problem.monitor):
                self._want_children(rank, evaluation)

    def _want_children(self, rank: Rank, evaluation: Evaluation) -> None:
        ceiling = self._known.cost
        for candidate in self._expander.expand(evaluation, after=evaluation.acted).candidates:
            cost = round(rank.cost + candidate.cost, COST_DECIMALS)
            if cost > ceiling:
                break  # they come in the order of cost
            child = evaluation.schedule.with_injection(candidate.injection)
            if child not in self._told and self._is_of_use(child, cost):
                self._wanted[child] = cost
