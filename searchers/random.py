"""Random schedules within the budget, none twice: the baseline that every other searcher has to beat."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_DECIMALS
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.searchers.points import Candidate, Expander
from chaosagent.searchers.told import Told
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Standing

REPEATS_MAX = 200


class RandomSearcher:
    """Draws the number of injections, then each of them, uniformly from what executed runs have shown.

    Args:
        problem: What is searched.
        injections_max: Most injections of one schedule.
    """

    def __init__(self, problem: Problem, *, injections_max: int = 4) -> None:
        if injections_max < 1:
            raise UsageError(f"random(injections_max={injections_max!r}): injections_max must be at least 1.")
        self._problem = problem
        self._injections_max = injections_max
        self._expander = Expander(problem.space, problem.seed, kinds_matter=problem.kinds_matter)
        self._pool: dict[Injection, Candidate] = {}
        self._order: list[Candidate] = []
        self._told = Told()
        self._exhausted = False

    def ask(self, count: int) -> list[Proposal]:
        told = self._told
        if EMPTY not in told:
            return [told.propose(EMPTY)] if count > 0 and EMPTY not in told.out else []
        proposals: list[Proposal] = []
        while len(proposals) < count and self._order and not self._exhausted:
            drawn = self._draw_new()
            if drawn is None:
                self._exhausted = True  # until a run shows more places
                break
            proposals.append(told.propose(drawn))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        if not self._told.take(evaluation):
            return
        if evaluation.status is Status.ERROR:
            return
        budget, pool = self._problem.budget, self._pool
        for candidate in self._expander.expand(evaluation, after=-1).candidates:
            cost, _, injection = candidate
            if cost > budget:
                break  # they come in the order of cost
            if injection not in pool:
                pool[injection] = candidate
                self._order.append(candidate)
                self._exhausted = False

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and not self._told.out and (self._exhausted or not self._order)

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
        asked = len(self._told) + len(self._told.out)
        streams = (
            derive(self._problem.search_seed, "random", self._problem.contract, asked, repeat)
            for repeat in range(REPEATS_MAX)
        )
        return self._told.first_free(self._draw(rng) for rng in streams)

    def _draw(self, rng: random.Random) -> Schedule:
        wanted = rng.randint(1, self._injections_max)
        left = self._problem.budget
        chosen: list[Injection] = []
        for candidate in shuffled(self._order, rng):
            if len(chosen) == wanted:
                break
            injection = candidate.injection
            if candidate.cost <= left + 10**-COST_DECIMALS / 2 and not any(
                injection.hook.overlaps(other.hook) for other in chosen
            ):
                chosen.append(injection)
                left -= candidate.cost
        return schedule(chosen)


def shuffled(candidates: Sequence[Candidate], rng: random.Random) -> Iterator[Candidate]:
    """Yield candidates in the order of `rng.sample(candidates, len(candidates))`; few of them are wanted."""
    pool = list(candidates)
    for left in range(len(pool), 0, -1):
        place = rng.randrange(left)
        yield pool[place]
        pool[place] = pool[left - 1]
