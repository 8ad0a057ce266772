"""Random schedules within the budget, none twice: the baseline that every other searcher has to beat."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, Schedule
from chaosagent.searchers.draft import Draft
from chaosagent.searchers.points import Candidate
from chaosagent.searchers.pool import Pool
from chaosagent.searchers.settings import whole
from chaosagent.searchers.told import Told
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Standing

REPEATS_MAX = 200


class RandomSearcher:
    """Draws the number of injections, then each of them, uniformly from what executed runs have shown.

    An injection at a place that only others bring about comes together with those. What was violated already sets the
    limit: dearer schedules are not drawn any more.

    Args:
        problem: What is searched.
        injections_max: Most injections of one schedule, those not counted that others need.
    """

    def __init__(self, problem: Problem, *, injections_max: int = 4) -> None:
        self._problem = problem
        self._injections_max = whole("random", "injections_max", injections_max, 1, INJECTIONS_MAX)
        self._pool = Pool(problem)
        self._told = Told()
        self._exhausted = False

    def ask(self, count: int) -> list[Proposal]:
        told = self._told
        if EMPTY not in told:
            return [told.propose(EMPTY)] if count > 0 and EMPTY not in told.out else []
        proposals: list[Proposal] = []
        while len(proposals) < count and not self._exhausted:
            drawn = self._draw_new()
            if drawn is None:
                self._exhausted = True  # until a run shows more places
                break
            proposals.append(told.propose(drawn))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        if self._told.take(evaluation) and self._pool.learn(evaluation):
            self._exhausted = False

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and not self._told.out and (self._exhausted or not self._pool.candidates)

    @property
    def standing(self) -> Standing:
        return Standing()

    def audit(self, count: int) -> list[Proposal]:
        del count  # it prunes nothing
        return []

    def _draw_new(self) -> Schedule | None:
        """Return a schedule that was not asked before, `None` when many draws brought none.

        What is drawn follows from how many were asked and what they told, not from how the search came there.
        """
        pool = self._pool
        if pool.cheapest > pool.ceiling:
            return None
        asked = len(self._told) + len(self._told.out)
        rng = derive(self._problem.search_seed, "random", self._problem.contract, asked)
        draws = (drawn(pool, rng, self._injections_max) for _ in range(REPEATS_MAX))
        return self._told.first_free(one for one in draws if not pool.is_known(one))


def drawn(pool: Pool, rng: random.Random, injections_max: int) -> Schedule:
    """Return a schedule of at most so many injections, their number and each of them drawn uniformly."""
    wanted = rng.randint(1, injections_max)
    draft = Draft(pool, pool.ceiling)
    for candidate in shuffled(pool.candidates, rng):
        if wanted == 0 or draft.left < pool.cheapest:
            break
        wanted -= draft.add(candidate.injection)
    return draft.schedule


def shuffled(candidates: Sequence[Candidate], rng: random.Random) -> Iterator[Candidate]:
    """Yield candidates in random order, each order equally likely; made for taking few of many."""
    moved: dict[int, int] = {}
    for left in range(len(candidates), 0, -1):
        place = int(rng.random() * left)
        yield candidates[moved.get(place, place)]
        moved[place] = moved.get(left - 1, left - 1)
