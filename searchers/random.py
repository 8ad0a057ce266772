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
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Purpose, Standing

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
        self._told: dict[Schedule, Evaluation] = {}
        self._open: set[Schedule] = set()
        self._exhausted = False

    def ask(self, count: int) -> list[Proposal]:
        if EMPTY not in self._told:
            proposals = [Proposal(EMPTY)] if count > 0 and EMPTY not in self._open else []
            self._open.update(proposal.schedule for proposal in proposals)
            return proposals
        proposals = []
        while len(proposals) < count and self._order and not self._exhausted:
            drawn = self._draw_new()
            if drawn is None:
                self._exhausted = True  # until a run shows more places
                break
            self._open.add(drawn)
            proposals.append(Proposal(drawn, Purpose.EXPLORE))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        self._open.discard(evaluation.schedule)
        known = self._told.get(evaluation.schedule)
        if known is not None:
            if known.digest != evaluation.digest and Status.ERROR not in (known.status, evaluation.status):
                raise UsageError(
                    f"tell({evaluation.schedule}): told before with digest {known.digest}, now {evaluation.digest}. "
                    "The target is not deterministic under this schedule."
                )
            return
        self._told[evaluation.schedule] = evaluation
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
        return EMPTY in self._told and not self._open and (self._exhausted or not self._order)

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
        asked = len(self._told) + len(self._open)
        for repeat in range(REPEATS_MAX):
            rng = derive(self._problem.search_seed, "random", self._problem.contract, asked, repeat)
            drawn = self._draw(rng)
            if drawn not in self._told and drawn not in self._open:
                return drawn
        return None

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
