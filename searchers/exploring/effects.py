"""What faults leave behind, and schedules that leave much of it behind at once.

Two runs that end in the same state have left the same behind, however different their faults were: retries, for
example, of different calls. So of all executed schedules those are kept that were the cheapest to leave something of
its own, and are no sum of others. A weakness needs some of these effects together; most faults have none.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.searchers.seen.states import State, States

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

PAIRS_MAX = 4_000
"""Of more pairs of effects only the first are looked at, cheapest first."""

Fits: TypeAlias = Callable[[Injection, Mapping[Place, Injection]], bool]
"""Whether an injection may be added to others."""

Pair: TypeAlias = tuple[State, State]
"""Two effects, by the states in which the runs that showed them ended."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a schedule leaves behind.

    Attributes:
        schedule: The cheapest that was seen to.
        cost: Of it.
    """

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
        self._known: dict[State, Effect] = {}
        self._borne: set[Pair] = set()
        self._blamed: Counter[Pair] = Counter()

    @property
    def count(self) -> int:
        """How many effects are known."""
        return len(self._known)

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
        path = self._states.path(state)
        known = self._known.get(state)
        if path is None or len(path.injections) > INJECTIONS_MAX or (known is not None and known.cost <= path.cost):
            return
        parts: set[Injection] = set()
        for one, other in self._known.items():
            if one != state and path.injections > set(other.schedule):
                parts |= set(other.schedule)
        if parts != path.injections:
            self._known[state] = Effect(schedule(path.injections), path.cost)

    def _judge(self, evaluation: Evaluation, *, ended: bool) -> None:
        """Note which effects a run has borne together, and which may have ended it."""
        there = set(evaluation.effective)
        came = [state for state, effect in self._known.items() if there.issuperset(effect.schedule)]
        if not ended:
            self._borne.update(map(_ordered, combinations(came, 2)))
            return
        acts = [act.injection for act in self._states.course(evaluation).acts if act.injection in there]
        last = acts[-1] if acts else None
        final = [state for state, effect in self._known.items() if last in effect.schedule.injections]
        pairs = {_ordered((one, other)) for one in final for other in came if one != other}
        for pair in pairs:
            self._blamed[pair] += CERTAIN if len(pairs) == 1 else 1

    def draw(self, fits: Fits, rng: random.Random) -> Schedule:
        """Return a schedule of effects that were not seen together and most likely go together.

        Args:
            fits: Whether an injection may be added to others.
            rng: Draws the effects.

        Returns:
            The schedule; the empty one when no two effects fit together.
        """
        chosen: dict[Place, Injection] = {}
        together: list[State] = []
        pairs = self._new_pairs()
        if pairs:
            weights = [0.25 ** self._blamed[pair] for pair in pairs]
            (first,) = rng.choices(pairs, weights)
            for state in first:
                self._add(state, together, chosen, fits)
        share = 0.0 if len(together) == 2 and rng.random() < ONLY_TWO else rng.choice(SHARES)
        others = [state for state in self._known if state not in together]
        rng.shuffle(others)
        for state in others:
            if rng.random() < share and not self._is_blamed(state, together, rng):
                self._add(state, together, chosen, fits)
        return schedule(chosen.values()) if len(together) > 1 else EMPTY

    def _new_pairs(self) -> list[Pair]:
        """Return pairs of effects that no run has borne, cheapest first."""
        in_order = sorted(self._known, key=lambda state: self._known[state].cost)
        pairs = (_ordered(pair) for pair in islice(combinations(in_order, 2), PAIRS_MAX))
        new = [pair for pair in pairs if pair not in self._borne]
        return sorted(new, key=lambda pair: self._known[pair[0]].cost + self._known[pair[1]].cost)

    def _add(self, state: State, together: list[State], chosen: dict[Place, Injection], fits: Fits) -> None:
        """Add an effect to those chosen, if all of its injections fit."""
        added = dict(chosen)
        for injection in self._known[state].schedule:
            if not fits(injection, added):
                return
            added[place_of(injection)] = injection
        chosen.update(added)
        together.append(state)

    def _is_blamed(self, state: State, together: list[State], rng: random.Random) -> bool:
        """Whether an effect is left out because of one of others."""
        for other in together:
            pair = _ordered((state, other))
            times = 0 if pair in self._borne else self._blamed[pair]
            if times and rng.random() < min(BLAME_MAX, times / (times + 1.0)):
                return True
        return False


def _ordered(pair: Pair) -> Pair:
    one, other = pair
    return pair if one <= other else (other, one)
