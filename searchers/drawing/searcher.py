"""What searchers have in common that draw schedules from what was seen and prove nothing."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.seen.points import Candidate
from chaosagent.searchers.seen.pool import Pool
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.seeds import Streams
from chaosagent.study.searcher import Problem, Proposal, SearchProgress


class DrawingSearcher(ABC):
    """Asks for the run without injections, then for what a subclass draws, nothing twice.

    It has finished when all that it draws was asked before, until a run shows that more is possible.

    Args:
        problem: What is searched.

    Attributes:
        name: A subclass's; names its random streams.
    """

    name: ClassVar[str]

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._streams = Streams(problem.search_seed, self.name, problem.contract)
        self._pool = Pool(problem)
        self._told = TrialLog(problem.log)
        self._exhausted = False

    @abstractmethod
    def _draws(self, rng: random.Random) -> Iterator[Schedule]:
        """Yield schedules, as many as it takes to be nearly sure that one of them is new if anything is."""

    def _learn(self, evaluation: Evaluation, fresh: Sequence[Candidate]) -> None:
        """Learn from a run, the first of its schedule, which may have ended as an error.

        Args:
            evaluation: What it told.
            fresh: What it has shown to be possible that was not known before.
        """
        del evaluation, fresh  # the pool has learned already

    def ask(self, count: int) -> list[Proposal]:
        told = self._told
        if EMPTY not in told:
            return [told.propose(EMPTY)] if count > 0 and EMPTY not in told.out else []
        proposals: list[Proposal] = []
        while len(proposals) < count and not self._exhausted:
            new = self._draw_new()
            if new is None:
                self._exhausted = True
                break
            proposals.append(told.propose(new))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        if not self._told.take(evaluation):
            return
        fresh = self._pool.learn(evaluation)
        if fresh:
            self._exhausted = False
        self._learn(evaluation, fresh)

    def observe_other(self, evaluation: Evaluation) -> None:
        """Learn from a run that a search for another contract has asked for."""
        self.tell(evaluation)

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and not self._told.out and (self._exhausted or not self._pool.candidates)

    @property
    def progress(self) -> SearchProgress:
        return SearchProgress()

    def audit(self, count: int) -> list[Proposal]:
        del count  # it prunes nothing
        return []

    def _draw_new(self) -> Schedule | None:
        """Return a schedule that was not asked before, `None` when many draws brought none.

        What is drawn follows from how many were asked and what they told, not from how the search came there.
        """
        pool, told = self._pool, self._told
        if pool.cheapest > pool.ceiling:
            return None
        for drawn in self._draws(self._streams.at(len(told) + len(told.out))):
            if not (told.is_taken(drawn) or pool.is_known(drawn)):
                return drawn
        return None
