"""Small combinations of faults that were merged, each run exactly as it is: nothing else acts in it.

A chain of many faults overshoots a target that breaks its contract only if it has lost exactly this and that. So
combinations are also run one by one: two faults, three, and so on, and each with one further fault that acts behind
them, preferably at the last calls. Where there are too many, each kind has its turn, and of each kind come first those
that differ in where they act.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, zip_longest
from typing import NamedTuple
from zlib import crc32

from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.operator import COST_TOLERANCE, CostModel
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.seen.states import States
from chaosagent.searchers.seen.trial_log import TrialLog

SIZE_MAX = 4
"""Faults in a combination, without the one behind them: chains of many faults have more."""

FAULTS_MAX = 24
"""Of how many faults combinations are made: four of so many are about 10,000."""

BEHIND_MAX = 8
"""How many faults that act behind a combination are added to it, one at a time."""

TRIES_MAX = 4_000
"""How many combinations are looked at to choose some."""


class _Ranked(NamedTuple):
    """A fault, how many cheaper ones act at the same place, and what it costs."""

    rank: int
    cost: float
    injection: Injection


class Combinations:
    """Combines faults that others have shown alone.

    Args:
        states: What runs have shown.
        model: What injections cost.
    """

    def __init__(self, states: States, model: CostModel) -> None:
        self._states, self._model = states, model

    def alone(self, faults: Iterable[Injection], told: TrialLog, *, cost_max: float) -> Iterator[Schedule]:
        """Yield the faults that were not run alone, each on its own."""
        singles = self._of_size(self._ranked(faults), 1, cost_max)
        return (single for single in singles if single not in told)

    def of(self, faults: Iterable[Injection], told: TrialLog, *, cost_max: float) -> Iterator[Schedule]:
        """Yield combinations that were not run, at most one fault at a place, each once.

        Args:
            faults: Of which they are made.
            told: All runs.
            cost_max: Of a combination with the fault behind it.
        """
        ranked = self._ranked(faults)
        known = {fault.injection for fault in ranked}
        sizes = range(1, SIZE_MAX + 1)
        exact = [self._of_size(ranked, size, cost_max) for size in sizes]
        followed = [self._followed(self._of_size(ranked, size, cost_max), known, cost_max) for size in sizes]
        pairs = exact[1]  # these get two turns: most of what depends on several facts depends on two
        turns = chain.from_iterable(zip(exact, followed, strict=True))
        found: set[Schedule] = set()
        for combination in islice(_in_turns([pairs, *turns]), TRIES_MAX):
            if combination not in told and combination not in found:
                found.add(combination)
                yield combination

    def _ranked(self, faults: Iterable[Injection]) -> list[_Ranked]:
        """Return the faults to combine, those first that act at different places."""
        places: defaultdict[Place, list[tuple[float, str, Injection]]] = defaultdict(list)
        for injection in faults:
            places[injection.place].append((self._model.of(injection.operator), str(injection), injection))
        ranked = [
            _Ranked(rank, cost, injection)
            for found in places.values()
            for rank, (cost, _, injection) in enumerate(sorted(found, key=lambda one: one[:2]))
        ]
        return sorted(ranked, key=lambda one: (one.rank, shuffle_key(str(one.injection))))[:FAULTS_MAX]

    def _of_size(self, ranked: Sequence[_Ranked], size: int, cost_max: float) -> Iterator[Schedule]:
        """Yield the combinations of some faults that differ most in place first, and among those the cheapest."""
        cheapest = min((fault.cost for fault in ranked), default=float("inf"))
        if size * cheapest > cost_max + COST_TOLERANCE:
            return
        found: list[tuple[int, float, int, tuple[_Ranked, ...]]] = []
        for number, faults in enumerate(combinations(ranked, size)):
            cost = sum(fault.cost for fault in faults)
            if cost <= cost_max + COST_TOLERANCE:
                found.append((sum(fault.rank for fault in faults), cost, shuffle_key(str(number)), faults))
        for *_, faults in sorted(found, key=lambda one: one[:3]):
            combined: Schedule | None = EMPTY
            for fault in faults:
                combined = None if combined is None else with_fault(combined, fault.injection)
            if combined is not None:
                yield combined

    def _followed(self, found: Iterable[Schedule], known: set[Injection], cost_max: float) -> Iterator[Schedule]:
        """Yield combinations with one more fault: all with the first that fits to them, then with the second."""
        left: list[Iterator[Schedule]] = []
        for combination in found:
            affordable = cost_max - combination.declared_cost(self._model)
            further = iter(self._with_another(combination, known, affordable))
            first = next(further, None)
            if first is not None:
                left.append(further)
                yield first
        yield from _in_turns(left)

    def _with_another(self, combination: Schedule, known: set[Injection], affordable: float) -> Iterator[Schedule]:
        behind = islice(self._behind(combination, affordable), BEHIND_MAX)
        for injection in behind:
            further = None if injection in known else with_fault(combination, injection)
            if further is not None:
                yield further

    def _behind(self, combination: Schedule, affordable: float) -> Iterator[Injection]:
        """Yield faults that would act behind a combination and leave something declared, the last place first."""
        steps = self._states.steps_of(combination)
        if steps is None:
            return
        last = max((number for number, step in enumerate(steps) if step.acted), default=0)
        places: defaultdict[Place, list[tuple[float, str, Injection]]] = defaultdict(list)
        positions: dict[Place, tuple[int, int]] = {}
        for number, (state, acted, shown) in enumerate(steps[last:]):
            for several, stretch in self._states.following(state).items():
                added = several - acted
                is_quiet = stretch.next_state is not None and stretch.next_state == shown.next_state
                if is_quiet or len(several) != len(acted) + 1 or len(added) != 1:
                    continue
                (injection,) = added
                cost = self._model.of(injection.operator)
                if cost <= affordable + COST_TOLERANCE:
                    if injection.place not in positions:
                        acts = self._states.run_of(stretch).acts
                        first = min((act.position for act in acts if act.injection == injection), default=0)
                        positions[injection.place] = (number, first)
                    places[injection.place].append((cost, str(injection), injection))
        ordered = sorted(places, key=lambda place: positions[place], reverse=True)
        at_places = [[one for *_, one in sorted(places[place], key=lambda one: one[:2])] for place in ordered]
        for row in zip_longest(*at_places):
            yield from (injection for injection in row if injection is not None)


def with_fault(schedule: Schedule, fault: Injection) -> Schedule | None:
    """Return a schedule with one more fault; `None` if another one acts there already."""
    return None if any(fault.hook.overlaps(one.hook) for one in schedule) else schedule.with_injection(fault)


def shuffle_key(text: str) -> int:
    """Return a number by which texts are in no particular order, the same in every search."""
    return crc32(text.encode("utf-8", "surrogatepass"))


def _in_turns(streams: Iterable[Iterator[Schedule]]) -> Iterator[Schedule]:
    """Yield one of each stream in turn, until all have ended."""
    left = list(streams)
    while left:
        for stream in list(left):
            found = next(stream, None)
            if found is None:
                left.remove(stream)
            else:
                yield found
