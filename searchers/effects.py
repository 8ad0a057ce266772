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
from typing import TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.searchers.states import State, States, place_of

INJECTIONS_MAX = 5
"""Longest schedules that are kept for an effect."""

SHARES = (1.0, 0.8, 0.6, 0.4)
"""How many of the effects a schedule tries to leave behind."""

BLAME_MAX = 0.9
"""Effects are kept apart with at most this probability."""

Fits: TypeAlias = Callable[[Injection, Mapping[Place, Injection]], bool]
"""Whether an injection may be added to others."""


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
        model: What injections cost.
    """

    def __init__(self, states: States, model: CostModel) -> None:
        self._states, self._model = states, model
        self._usual: frozenset[Place] = frozenset()
        self._nominal: State | None = None
        self._known: dict[State, Effect] = {}
        self._borne: set[tuple[Schedule, Schedule]] = set()
        self._blamed: Counter[tuple[Schedule, Schedule]] = Counter()
        self._drawn: dict[Schedule, tuple[Schedule, ...]] = {}

    def learn(self, evaluation: Evaluation, *, violated: bool) -> None:
        """Take over what a run has shown."""
        if evaluation.status is Status.ERROR or not evaluation.fingerprints:
            return
        last = self._states.course(evaluation).marks[-1].state
        reached = {crossing.place for crossing in evaluation.crossings}
        if evaluation.schedule == EMPTY:
            self._usual, self._nominal = frozenset(reached), last
            return
        ended = not self._usual <= reached and not violated
        together = self._drawn.pop(evaluation.schedule, ())
        if together:
            self._judge(together, evaluation.effective, ended=ended)
        if len(evaluation.effective) <= INJECTIONS_MAX and not ended and not violated and last != self._nominal:
            self._keep(last, evaluation.effective)

    def _keep(self, state: State, found: Schedule) -> None:
        cost = found.declared_cost(self._model)
        known = self._known.get(state)
        if known is not None and (known.cost, len(known.schedule)) <= (cost, len(found)):
            return
        injections = set(found)
        parts: set[Injection] = set()
        for other in self._known.values():
            if injections > set(other.schedule):
                parts |= set(other.schedule)
        if parts != injections:
            self._known[state] = Effect(found, cost)

    def _judge(self, together: tuple[Schedule, ...], landed: Schedule, *, ended: bool) -> None:
        """Note which effects a run has borne together, and which may have ended it."""
        there = set(landed)
        came = [one for one in together if there.intersection(one)]
        if not ended:
            self._borne.update((one, other) for one in came for other in came)
            return
        for one in came:
            for other in came:
                if one != other:
                    self._blamed[one, other] += 1

    def draw(self, fits: Fits, rng: random.Random) -> Schedule:
        """Return a schedule of several effects that most likely go together.

        Args:
            fits: Whether an injection may be added to others.
            rng: Draws the effects.
        """
        effects = list(self._known.values())
        rng.shuffle(effects)
        share = rng.choice(SHARES)
        chosen: dict[Place, Injection] = {}
        together: list[Schedule] = []
        for effect in effects:
            if rng.random() >= share or self._is_blamed(effect.schedule, together, rng):
                continue
            added = dict(chosen)
            for injection in effect.schedule:
                if fits(injection, added):
                    added[place_of(injection)] = injection
            if len(added) == len(chosen) + len(effect.schedule):
                chosen = added
                together.append(effect.schedule)
        made = schedule(chosen.values()) if len(together) > 1 else EMPTY
        self._drawn[made] = tuple(together)
        return made

    def _is_blamed(self, added: Schedule, together: list[Schedule], rng: random.Random) -> bool:
        """Whether an effect is left out because of one of others."""
        for other in together:
            if (added, other) not in self._borne:
                times = self._blamed[added, other]
                if times and rng.random() < min(BLAME_MAX, times / (times + 1.0)):
                    return True
        return False
