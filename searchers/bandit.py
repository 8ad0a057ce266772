"""A bandit over arms (operator, interface): arms that brought runs closer to a violation are pulled more often.

A pull injects an operator somewhere on an interface. Which call and which parameters is drawn uniformly, and so are the
other injections of the schedule, unless they are pulls, too, or those of one of the best runs so far. The reward of a
run is how much lower its margin was than that of the run without injections, as a share of the way to a violation, by
what it cost.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, Schedule
from chaosagent.searchers.drawing.draft import Draft
from chaosagent.searchers.drawing.searcher import DrawingSearcher
from chaosagent.searchers.drawing.uniform import shuffle
from chaosagent.searchers.learning.front import Front, Point
from chaosagent.searchers.seen.points import Candidate
from chaosagent.searchers.seen.pool import Arm, margin_of
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import Within

EXPLORATION_MAX = 100.0
STRETCH_MAX = 100.0
DRAWS_MAX = 60


class BanditSearcher(DrawingSearcher):
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

    name = "bandit"

    def __init__(
        self,
        problem: Problem,
        *,
        policy: Literal["ucb1", "thompson"] = "ucb1",
        exploration: Annotated[float, Within(0.0, EXPLORATION_MAX)] = 0.3,
        pulled: Annotated[float, Within(0.0, 1.0)] = 0.5,
        continued: Annotated[float, Within(0.0, 1.0)] = 0.5,
        stretch: Annotated[float, Within(1.0, STRETCH_MAX)] = 1.5,
        injections_max: Annotated[int, Within(1, INJECTIONS_MAX)] = 4,
    ) -> None:
        super().__init__(problem)
        self._policy = policy
        self._exploration = exploration
        self._pulled = pulled
        self._continued = continued
        self._stretch = stretch
        self._injections_max = injections_max
        self._credit = Credit()
        self._front = Front()
        self._base: float | None = None

    def _learn(self, evaluation: Evaluation, fresh: Sequence[Candidate]) -> None:
        del fresh
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

    def _reward(self, margin: float, landed: Schedule, base: float) -> float:
        """Return a reward in [0, 1]: the share of the way to a violation, over cost in units of the cheapest one."""
        if not landed or margin >= base:
            return 0.0
        way = 1.0 if margin <= 0.0 else (base - margin) / base
        cost = max(self._pool.cost_of(landed), COST_TOLERANCE)  # what costs next to nothing is rounded to nothing
        return min(1.0, way * max(self._pool.cheapest, COST_TOLERANCE) / cost)

    # ------------------------------------------------------------------ drawing

    def _draws(self, rng: random.Random) -> Iterator[Schedule]:
        order = self._order(rng)
        return (self._draw(order[repeat // 4 :] or order, rng) for repeat in range(DRAWS_MAX))

    def _order(self, rng: random.Random) -> list[Arm]:
        arms = list(self._pool.arms)
        if self._policy == "thompson":
            return self._credit.by_thompson(arms, rng)
        pending = Counter(arm for schedule in self._told.out for arm in _arms_of(schedule))
        return self._credit.by_ucb1(arms, self._exploration, pending)

    def _draw(self, order: list[Arm], rng: random.Random) -> Schedule:
        """Draw a schedule whose pulls are the first arms of an order."""
        pool = self._pool
        draft = Draft(pool, self._stretch * pool.ceiling)
        if rng.random() < self._continued:
            draft.add_all(self._begun(rng))
        wanted = rng.randint(1, self._injections_max)
        others, arms = shuffle(pool.candidates, rng), iter(order)
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


class Credit:
    """Rewards in [0, 1] by arm."""

    def __init__(self) -> None:
        self._pulls: dict[Arm, int] = {}
        self._sums: dict[Arm, float] = {}
        self._all = 0

    def earn(self, arms: Iterable[Arm], reward: float) -> None:
        """Note the reward of one run for each arm that had its part in it."""
        for arm in arms:
            self._pulls[arm] = self._pulls.get(arm, 0) + 1
            self._sums[arm] = self._sums.get(arm, 0.0) + reward
            self._all += 1

    def pulls(self, arm: Arm) -> int:
        """Return how many runs an arm has had its part in."""
        return self._pulls.get(arm, 0)

    def by_ucb1(self, arms: Sequence[Arm], exploration: float, pending: dict[Arm, int]) -> list[Arm]:
        """Return arms by falling upper confidence bound, mean + exploration · √(ln n / n_j).

        Args:
            arms: To be ordered; those never pulled come first, and of equal ones the first of them.
            exploration: √2 in the source.
            pending: How often each is being pulled now; they count as pulls that earn nothing, so that not all trials
                in flight pull the same arm.
        """
        logarithm = math.log(max(2, self._all + sum(pending.values())))

        def bound(arm: Arm) -> float:
            pulls = self.pulls(arm) + pending.get(arm, 0)
            if not pulls:
                return math.inf
            return self._sums.get(arm, 0.0) / pulls + exploration * math.sqrt(logarithm / pulls)

        return sorted(arms, key=bound, reverse=True)

    def by_thompson(self, arms: Sequence[Arm], rng: random.Random) -> list[Arm]:
        """Return arms by a falling draw from Beta(1 + s_j, 1 + n_j - s_j), where s_j is the sum of rewards.

        Rewards are no successes and failures but shares of them; they are counted as such shares.
        """

        def draw(arm: Arm) -> float:
            earned = self._sums.get(arm, 0.0)
            return rng.betavariate(1.0 + earned, 1.0 + self.pulls(arm) - earned)

        draws = {arm: draw(arm) for arm in arms}
        return sorted(arms, key=draws.__getitem__, reverse=True)
