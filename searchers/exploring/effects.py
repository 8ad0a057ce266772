"""What faults leave behind, and schedules that leave much of it behind at once.

Two runs that end in the same state have left the same behind, however different their faults were: retries, for
example, of different calls. So of all executed schedules those are kept that were the cheapest to leave something of
its own, and are no sum of others. A weakness needs some of these effects together; most faults have none.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from operator import attrgetter
from typing import TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.searchers.seen.course import State
from chaosagent.searchers.seen.states import States

INJECTIONS_MAX = 5
"""Longest schedules that are kept for an effect."""

SHARES = (1.0, 0.8, 0.6, 0.4)
"""How many of the effects a schedule tries to leave behind."""

ONLY_TWO = 0.3
"""Share of schedules with two effects and no more."""

BLAME_MAX = 0.9
"""Effects are kept apart with at most this probability."""

CERTAIN = 4
"""How much two effects are blamed when a run ended that had no others, in terms of one of several."""

EFFECTS_MAX = 100
"""How many effects are kept, those found first: each schedule is drawn from all of them."""

Fits: TypeAlias = Callable[[Injection, Mapping[Place, Injection]], bool]
"""Whether an injection may be added to others."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a schedule leaves behind.

    Attributes:
        number: Of the effect.
        state: In which the runs that showed it ended.
        schedule: The cheapest that was seen to leave it behind.
        cost: Of it.
    """

    number: int
    state: State
    schedule: Schedule
    cost: float


class Effects:
    """Collects effects, and which of them a target does not bear together.

    Args:
        states: What is known of the states that runs come through; told of each run before this is.
    """

    def __init__(self, states: States) -> None:
        self._states = states
        self._usual: frozenset[Place] = frozenset()
        self._nominal: State | None = None
        self._numbers: dict[State, int] = {}
        self._effects: list[Effect] = []
        self._beginning: defaultdict[Injection, set[int]] = defaultdict(set)  # by the first of their injections
        self._holding: defaultdict[Injection, set[int]] = defaultdict(set)  # by each of them
        self._pairs = Pairs()

    @property
    def count(self) -> int:
        """How many effects are known."""
        return len(self._effects)

    @property
    def has_fresh(self) -> bool:
        """Whether two of them were neither seen together nor may have ended a run."""
        return self._pairs.has_fresh

    def learn(self, evaluation: Evaluation, *, violated: bool) -> None:
        """Take over what a run has shown."""
        if evaluation.status is Status.ERROR or not evaluation.fingerprints:
            return
        course = self._states.course(evaluation)
        last = course.marks[-1].state
        reached = {crossing.place for crossing in evaluation.crossings}
        if evaluation.schedule == EMPTY:
            self._usual, self._nominal = frozenset(reached), last
            return
        acts_last = course.acts and course.acts[-1].position > course.marks[-1].position
        ended = (acts_last or not self._usual <= reached) and not violated
        self._judge(evaluation, ended=ended)
        if not ended and not violated and last != self._nominal:
            self._keep(last)

    def _keep(self, state: State) -> None:
        """Keep the cheapest way to a state as an effect, unless it is a sum of others."""
        path, number = self._states.path(state), self._numbers.get(state)
        if path is None or len(path.injections) > INJECTIONS_MAX:
            return
        known = None if number is None else self._effects[number]
        if len(self._effects) >= EFFECTS_MAX if known is None else known.cost <= path.cost:
            return
        parts: set[Injection] = set()
        for part in self._effects_within(path.injections):
            if part.state != state and len(part.schedule) < len(path.injections):
                parts.update(part.schedule)
        if parts != path.injections:
            self._put(
                Effect(len(self._effects) if number is None else number, state, schedule(path.injections), path.cost)
            )

    def _put(self, effect: Effect) -> None:
        """Keep an effect, in place of a dearer way to it."""
        number, injections = effect.number, effect.schedule.injections
        if number < len(self._effects):
            before = self._effects[number].schedule.injections
            self._beginning[before[0]].discard(number)
            for injection in before:
                self._holding[injection].discard(number)
            self._effects[number] = effect
        else:
            self._numbers[effect.state] = number
            self._effects.append(effect)
        self._beginning[injections[0]].add(number)
        for injection in injections:
            self._holding[injection].add(number)
        self._pairs.set_cost(number, effect.cost)

    def _effects_within(self, injections: Collection[Injection]) -> list[Effect]:
        """Return the effects of which all injections are among some."""
        return [
            effect
            for injection in injections
            for number in self._beginning.get(injection, ())
            if len((effect := self._effects[number]).schedule) == 1
            or all(one in injections for one in effect.schedule.injections)
        ]

    def _judge(self, evaluation: Evaluation, *, ended: bool) -> None:
        """Note which effects a run has borne together, and which may have ended it."""
        there = set(evaluation.effective.injections)
        came = [effect.number for effect in self._effects_within(there)]
        if not ended:
            self._pairs.bear(came)
            return
        acts = [act.injection for act in self._states.course(evaluation).acts if act.injection in there]
        final = self._holding.get(acts[-1], ()) if acts else ()
        pairs = {(min(one, other), max(one, other)) for one in final for other in came if one != other}
        for one, other in pairs:
            self._pairs.blame(one, other, CERTAIN if len(pairs) == 1 else 1)

    def draw(self, fits: Fits, rng: random.Random) -> Schedule:
        """Return a schedule of effects that were not seen together and most likely go together.

        Args:
            fits: Whether an injection may be added to others.
            rng: Draws the effects.

        Returns:
            The schedule; the empty one when no two effects fit together.
        """
        chosen: dict[Place, Injection] = {}
        together: list[int] = []
        pair = self._pairs.draw(rng)
        if pair is not None:
            for effect in sorted((self._effects[number] for number in pair), key=_state):
                self._add(effect.number, together, chosen, fits)
        share = 0.0 if len(together) == 2 and rng.random() < ONLY_TWO else rng.choice(SHARES)
        others = [number for number in range(len(self._effects)) if number not in together]
        rng.shuffle(others)
        for number in others:
            if rng.random() < share and not self._is_blamed(number, together, rng):
                self._add(number, together, chosen, fits)
        return schedule(chosen.values()) if len(together) > 1 else EMPTY

    def _add(self, number: int, together: list[int], chosen: dict[Place, Injection], fits: Fits) -> None:
        """Add an effect to those chosen, if all of its injections fit."""
        injections = self._effects[number].schedule.injections
        if any(injection.place in chosen for injection in injections):
            return
        added = dict(chosen) if len(injections) > 1 else chosen
        for injection in injections:
            if not fits(injection, added):
                return
            added[injection.place] = injection
        if added is not chosen:
            chosen.update(added)
        together.append(number)

    def _is_blamed(self, number: int, together: list[int], rng: random.Random) -> bool:
        """Whether an effect is left out because of one of others."""
        for other in together:
            times = self._pairs.blamed(number, other)
            if times and rng.random() < min(BLAME_MAX, times / (times + 1.0)):
                return True
        return False


_state = attrgetter("state")


PAIRS_MAX = 4_000
"""Of more pairs of effects only the first are looked at, cheapest first."""

BLAME_FACTOR = 0.25
"""By this a pair is drawn less often for each time that it is blamed. A power of two, so that sums of weights are exact
and what is drawn does not depend on the way by which they came about."""


class Pairs:
    """Keeps which effects were borne together, and which are blamed for the end of a run. Effects are numbered from 0.

    Attributes:
        costs: Of the effects; to be changed by `set_cost` alone.
    """

    def __init__(self) -> None:
        self.costs: list[float] = []
        self._borne: list[int] = []  # bit sets: with which effects of lower number
        self._blamed: Counter[tuple[int, int]] = Counter()
        self._pairs: list[tuple[int, int]] = []
        self._places: dict[tuple[int, int], int] = {}
        self._weights: list[float] = []
        self._sums: list[float] = []
        self._open = self._fresh = 0
        self._is_stale = False

    def set_cost(self, effect: int, cost: float) -> None:
        """Take a new effect, or a cheaper way to one that is known."""
        if effect == len(self.costs):
            self.costs.append(cost)
            self._borne.append(0)
        self.costs[effect] = cost
        self._is_stale = True

    def bear(self, effects: Sequence[int]) -> None:
        """Note that a run has borne effects together."""
        before = 0
        for effect in sorted(effects):
            new = before & ~self._borne[effect]
            self._borne[effect] |= new
            before |= 1 << effect
            while new and not self._is_stale:
                lowest = new & -new
                self._weigh((lowest.bit_length() - 1, effect), 0.0)
                new ^= lowest

    def blame(self, one: int, other: int, times: int) -> None:
        """Note that two effects together may have ended a run."""
        pair = (one, other) if one < other else (other, one)
        self._blamed[pair] += times
        if not self._is_stale and not self._is_borne(pair):
            self._weigh(pair, self._weight(pair))

    def blamed(self, one: int, other: int) -> int:
        """Return how much two effects are blamed; not at all when they were borne together."""
        pair = (one, other) if one < other else (other, one)
        times = self._blamed.get(pair, 0)
        return 0 if times and self._is_borne(pair) else times

    @property
    def has_fresh(self) -> bool:
        """Whether two effects were neither borne together nor blamed."""
        if self._is_stale:
            self._build()
        return self._fresh > 0

    def draw(self, rng: random.Random) -> tuple[int, int] | None:
        """Return two effects that no run has borne together, `None` when there are none."""
        if self._is_stale:
            self._build()
        if not self._open:
            return None
        left, place, step = rng.random() * self._total(), 0, 1 << (len(self._sums) - 1).bit_length()
        while step:
            further = place + step
            if further < len(self._sums) and self._sums[further] <= left:
                place, left = further, left - self._sums[further]
            step >>= 1
        return self._pairs[min(place, len(self._pairs) - 1)]

    # ------------------------------------------------------------------ the tree

    def _is_borne(self, pair: tuple[int, int]) -> bool:
        return bool(self._borne[pair[1]] >> pair[0] & 1)

    def _weight(self, pair: tuple[int, int]) -> float:
        return 0.0 if self._is_borne(pair) else float(BLAME_FACTOR ** self._blamed.get(pair, 0))

    def _build(self) -> None:
        costs, borne, blamed = self.costs, self._borne, self._blamed
        in_order = sorted(range(len(costs)), key=costs.__getitem__)
        first = list(islice(combinations(in_order, 2), PAIRS_MAX))
        both = [costs[one] + costs[other] for one, other in first]
        in_order = sorted(range(len(first)), key=both.__getitem__)
        pairs = [(one, other) if one < other else (other, one) for one, other in map(first.__getitem__, in_order)]
        self._pairs, self._places = pairs, dict(zip(pairs, range(len(pairs)), strict=True))
        self._weights = [0.0 if borne[other] >> one & 1 else 1.0 for one, other in pairs]
        for pair in blamed.keys() & self._places.keys():
            self._weights[self._places[pair]] = self._weight(pair)
        self._open = sum(map(bool, self._weights))
        self._fresh = self._weights.count(1.0)
        self._sums = sums = [0.0, *self._weights]
        for place in range(1, len(sums)):
            above = place + (place & -place)
            if above < len(sums):
                sums[above] += sums[place]
        self._is_stale = False

    def _weigh(self, pair: tuple[int, int], weight: float) -> None:
        place = self._places.get(pair)
        if place is None:
            return
        added = weight - self._weights[place]
        self._open += bool(weight) - bool(self._weights[place])
        self._fresh += (weight == 1.0) - (self._weights[place] == 1.0)
        self._weights[place] = weight
        place += 1
        while place < len(self._sums):
            self._sums[place] += added
            place += place & -place

    def _total(self) -> float:
        total, place = 0.0, len(self._sums) - 1
        while place:
            total += self._sums[place]
            place &= place - 1
        return total
