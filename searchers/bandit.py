"""A bandit over arms (operator, interface): arms that brought runs closer to a violation are pulled more often.

A pull injects an operator somewhere on an interface. Which call and which parameters is drawn uniformly, and so are the
other injections of the schedule, unless they are pulls, too, or those of one of the best runs so far. The reward of a
run is how much lower its margin was than that of the run without injections, as a share of the way to a violation, by
what it cost.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, Schedule
from chaosagent.searchers.credit import Credit
from chaosagent.searchers.draft import Draft
from chaosagent.searchers.front import Front, Point
from chaosagent.searchers.points import Candidate
from chaosagent.searchers.pool import Arm, Pool, margin_of
from chaosagent.searchers.random import shuffled
from chaosagent.searchers.settings import number, whole, word
from chaosagent.searchers.told import Told
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Standing

POLICIES = ("ucb1", "thompson")
EXPLORATION_MAX = 100.0
STRETCH_MAX = 100.0
DRAWS_MAX = 60


class BanditSearcher:
    """Pulls arms by UCB1 or Thompson sampling.

    Args:
        problem: What is searched.
        policy: `"ucb1"` or `"thompson"`.
        exploration: Weight of the uncertain in UCB1; √2 in its source. Thompson sampling has none.
        pulled: Share of the injections that are pulls; the others are drawn uniformly. The first always is one.
        continued: Share of the schedules that begin with what landed in one of the best runs: one of the Pareto front
            of margin and cost that came closer to a violation than the run without injections.
        stretch: What a schedule may cost, as a multiple of what is of use: dearer ones are shrunk when they violate.
        injections_max: Most injections of one schedule, those not counted that others need.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        policy: str = "ucb1",
        exploration: float = 0.3,
        pulled: float = 0.5,
        continued: float = 0.5,
        stretch: float = 1.5,
        injections_max: int = 4,
    ) -> None:
        name = "bandit"
        self._problem = problem
        self._policy = word(name, "policy", policy, POLICIES)
        self._exploration = number(name, "exploration", exploration, 0.0, EXPLORATION_MAX)
        self._pulled = number(name, "pulled", pulled, 0.0, 1.0)
        self._continued = number(name, "continued", continued, 0.0, 1.0)
        self._stretch = number(name, "stretch", stretch, 1.0, STRETCH_MAX)
        self._injections_max = whole(name, "injections_max", injections_max, 1, INJECTIONS_MAX)
        self._pool = Pool(problem)
        self._credit = Credit()
        self._told = Told()
        self._front = Front()
        self._pending: dict[Schedule, frozenset[Arm]] = {}
        self._base: float | None = None
        self._exhausted = False

    def ask(self, count: int) -> list[Proposal]:
        told = self._told
        if EMPTY not in told:
            return [told.propose(EMPTY)] if count > 0 and EMPTY not in told.out else []
        proposals: list[Proposal] = []
        while len(proposals) < count and not self._exhausted:
            new = self._new()
            if new is None:
                self._exhausted = True  # until a run shows more places
                break
            self._pending[new] = _arms_of(new)
            proposals.append(told.propose(new))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        if not self._told.take(evaluation):
            return
        self._pending.pop(evaluation.schedule, None)
        if self._pool.learn(evaluation):
            self._exhausted = False
        if evaluation.status is Status.ERROR:
            return
        margin, landed = margin_of(evaluation, self._problem.contract), evaluation.effective
        self._front.offer(Point(self._pool.cost_of(landed), margin, landed))
        if evaluation.schedule == EMPTY:
            self._base = margin
        elif self._base is not None:
            arms = _arms_of(landed)
            self._credit.earn(sorted(arms), self._reward(margin, landed, self._base))
            self._credit.earn(sorted(_arms_of(evaluation.schedule) - arms), 0.0)

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and not self._told.out and (self._exhausted or not self._pool.candidates)

    @property
    def standing(self) -> Standing:
        return Standing()

    def audit(self, count: int) -> list[Proposal]:
        del count  # it prunes nothing
        return []

    def _reward(self, margin: float, landed: Schedule, base: float) -> float:
        """Return a reward in [0, 1]: the share of the way to a violation, over cost in units of the cheapest one."""
        if not landed or margin >= base:
            return 0.0
        way = 1.0 if margin <= 0.0 else (base - margin) / base
        return min(1.0, way * self._pool.cheapest / self._pool.cost_of(landed))

    # ------------------------------------------------------------------ drawing

    def _new(self) -> Schedule | None:
        """Return a schedule that was not asked before, `None` when many draws brought none."""
        pool = self._pool
        if pool.cheapest > pool.ceiling:
            return None
        asked = len(self._told) + len(self._told.out)
        rng = derive(self._problem.search_seed, "bandit", self._problem.contract, asked)
        order = self._order(rng)
        for repeat in range(DRAWS_MAX):
            schedule = self._draw(order[repeat // 4 :] or order, rng)
            if schedule != EMPTY and not self._told.is_taken(schedule) and not pool.is_known(schedule):
                return schedule
        return None

    def _order(self, rng: random.Random) -> list[Arm]:
        arms = list(self._pool.arms)
        if self._policy == "thompson":
            return self._credit.by_thompson(arms, rng)
        pending = Counter(arm for arms_out in self._pending.values() for arm in arms_out)
        return self._credit.by_ucb1(arms, self._exploration, pending)

    def _draw(self, order: list[Arm], rng: random.Random) -> Schedule:
        """Draw a schedule whose pulls are the first arms of an order."""
        pool = self._pool
        draft = Draft(pool, self._stretch * pool.ceiling)
        if rng.random() < self._continued:
            draft.add_all(self._begun(rng))
        wanted = rng.randint(1, self._injections_max)
        others, arms = shuffled(pool.candidates, rng), iter(order)
        is_pull = True
        while wanted and draft.left >= pool.cheapest:
            injection = self._pull(arms, rng) if is_pull else _next(others)
            if injection is None:
                break
            if not pool.is_passed_over(injection, rng):
                wanted -= draft.add(injection)
            is_pull = rng.random() < self._pulled
        return draft.schedule

    def _begun(self, rng: random.Random) -> Schedule:
        """Return what landed in one of the best runs that broke nothing yet; nothing when there is none."""
        closer = [
            point.schedule for point in self._front if self._base is not None and 0.0 <= point.margin < self._base
        ]
        return rng.choice(closer) if closer else EMPTY

    def _pull(self, arms: Iterator[Arm], rng: random.Random) -> Injection | None:
        """Return an injection of the next arm, drawn uniformly; `None` when there is no arm left."""
        arm = next(arms, None)
        return None if arm is None else rng.choice(self._pool.arms[arm]).injection


def _next(candidates: Iterator[Candidate]) -> Injection | None:
    candidate = next(candidates, None)
    return None if candidate is None else candidate.injection


def _arms_of(schedule: Schedule) -> frozenset[Arm]:
    return frozenset(Arm(injection.operator_name, injection.hook.interface) for injection in schedule)
