"""Levels of a monotone parameter taken together: intervals, each as its strongest level at the cost of its weakest."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from chaosagent.faults.injection import Injection, inject
from chaosagent.faults.operator import COST_DECIMALS, Operator, ParameterValue, parameters_of
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.schedule import schedule as schedule_of
from chaosagent.faults.space import Priced, Space
from chaosagent.vocabulary import Boundary

T = TypeVar("T")
Ladder: TypeAlias = tuple[Priced, ...]
"""One operator at the levels of its monotone parameter, weakest first, all else being equal."""


class Rung(NamedTuple):
    """Where an injection stands.

    Attributes:
        door: Interface and agent.
        ladder: All levels there.
        level: Its place among them, from 0.
        first: The weakest level of its interval.
        last: The strongest.
    """

    door: tuple[str, str]
    ladder: Ladder
    level: int
    first: int
    last: int


class IntervalSpace(Space):
    """A space in which each monotone parameter has intervals in place of levels.

    An interval is offered as its strongest level, at the cost of its weakest: so what is offered costs no more than
    anything that it stands for, and breaks whatever that would break.

    Args:
        base: The space of all levels.
    """

    def __init__(self, base: Space) -> None:
        super().__init__(base.choices, base.model)
        self._base, self.outcomes = base, base.outcomes
        self._ladders: dict[tuple[str, str], dict[Operator, tuple[Ladder, int]]] = {}
        self._starts: dict[tuple[tuple[str, str], Ladder], list[int]] = {}
        self._offered: dict[tuple[str, str], tuple[Priced, ...]] = {}

    def at(self, boundary: Boundary, interface: str, agent: str) -> tuple[Priced, ...]:
        """Return what stands for the intervals at an interface, and what has no levels, cheapest first."""
        door = (interface, agent)
        known = self._offered.get(door)
        if known is None:
            offered = []
            for priced in self._base.at(boundary, interface, agent):
                rung = self.rung(door, priced.operator)
                if rung is None:
                    offered.append(priced)
                elif rung.level == rung.last:
                    offered.append(Priced(rung.ladder[rung.first].cost, priced.operator))
            known = self._offered[door] = tuple(sorted(offered, key=lambda priced: priced.cost))
        return known

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a new object: what this space offers changes, and each search has one of its own."""
        del key
        return make()

    def rung(self, door: tuple[str, str], operator: Operator) -> Rung | None:
        """Return where an operator stands at an interface; `None` when it has no levels there."""
        found = self._ladders_at(door).get(operator)
        if found is None:
            return None
        ladder, level = found
        starts = self._starts.get((door, ladder), [0])
        first = max(start for start in starts if start <= level)
        last = min((start - 1 for start in starts if start > level), default=len(ladder) - 1)
        return Rung(door, ladder, level, first, last)

    def rung_of(self, injection: Injection) -> Rung | None:
        """Return where an injection stands; `None` when its operator has no levels there."""
        return self.rung((injection.hook.interface, injection.hook.agent), injection.operator)

    def floor(self, schedule: Schedule) -> float:
        """Return the least cost of what has each injection in the same interval."""
        return round(sum(self._floor_of(injection) for injection in schedule), COST_DECIMALS)

    def _floor_of(self, injection: Injection) -> float:
        rung = self.rung_of(injection)
        return self.model.of(injection.operator) if rung is None else rung.ladder[rung.first].cost

    def cut(self, schedule: Schedule) -> bool:
        """Cut the interval whose weakest level is cheaper by most, so that the schedule lies in the upper part.

        Returns:
            Whether there was one; without, nothing in the same intervals is cheaper than the schedule.
        """
        gaps = []
        for injection in schedule:
            rung = self.rung_of(injection)
            if rung is not None and rung.first < rung.level:
                gaps.append((rung.ladder[rung.level].cost - rung.ladder[rung.first].cost, str(injection), rung))
        if not gaps:
            return False
        _, _, rung = max(gaps, key=lambda gap: gap[:2])
        starts = self._starts.setdefault((rung.door, rung.ladder), [0])
        starts.append((rung.first + rung.level + 1) // 2)
        self._offered.pop(rung.door, None)
        return True

    def stands_for(self, schedule: Schedule, cost_max: float) -> int:
        """Return for how many others of a limited cost a schedule stands; 0 when another stands for it."""
        sums = Counter({0.0: 1})
        for injection in schedule:
            rung = self.rung_of(injection)
            if rung is not None and rung.level != rung.last:
                return 0
            levels = [self.model.of(injection.operator)] if rung is None else self._costs(rung)
            longer = Counter[float]()
            for (total, number), level in itertools.product(sums.items(), levels):
                if round(total + level, COST_DECIMALS) <= cost_max:
                    longer[round(total + level, COST_DECIMALS)] += number
            sums = longer
        return max(0, sums.total() - (schedule.declared_cost(self.model) <= cost_max))

    @staticmethod
    def _costs(rung: Rung) -> list[float]:
        return [priced.cost for priced in rung.ladder[rung.first : rung.last + 1]]

    def weaker(self, schedule: Schedule) -> Iterator[Schedule]:
        """Yield the schedules for which one stands, itself included, in the order of their levels."""
        options: list[list[Injection]] = []
        for injection in schedule:
            rung = self.rung_of(injection)
            if rung is None:
                options.append([injection])
            else:
                inside = rung.ladder[rung.first : rung.level + 1]
                options.append([inject(injection.hook, priced.operator) for priced in inside])
        return (schedule_of(chosen) for chosen in itertools.product(*options))

    def skeleton(self, schedule: Schedule) -> tuple[tuple[object, ...], tuple[int, ...]]:
        """Return what a schedule is but for its levels, and those: of two with equal skeletons they can be compared."""
        bones: list[object] = []
        levels: list[int] = []
        for injection in sorted(schedule, key=lambda injection: str(injection.hook)):
            rung = self.rung_of(injection)
            bones.append(injection if rung is None else (injection.hook, rung.ladder[0].operator))
            levels.append(0 if rung is None else rung.level)
        return tuple(bones), tuple(levels)

    def _ladders_at(self, door: tuple[str, str]) -> dict[Operator, tuple[Ladder, int]]:
        known = self._ladders.get(door)
        if known is None:
            known = self._ladders[door] = {}
            interface, agent = door
            for ladder in _ladders(self._base.at(Boundary(interface.partition(":")[0]), interface, agent)):
                known.update((priced.operator, (ladder, level)) for level, priced in enumerate(ladder))
        return known


def _ladders(offered: tuple[Priced, ...]) -> Iterator[Ladder]:
    """Yield the operators that have several levels of a monotone parameter, each strictly stronger than the one before.

    Equally strong levels are not ordered, so of these only the first is on a ladder.
    """
    families: dict[tuple[str, tuple[tuple[str, ParameterValue], ...]], list[Priced]] = defaultdict(list)
    for priced in offered:
        parameter = getattr(priced.operator, "monotone", None)
        if parameter is not None:
            rest = tuple(pair for pair in parameters_of(priced.operator) if pair[0] != parameter)
            families[priced.operator.name, rest].append(priced)
    for family in families.values():
        strengths: dict[float, Priced] = {}
        for priced in family:
            strengths.setdefault(priced.operator.magnitude, priced)
        rungs = [strengths[strength] for strength in sorted(strengths)]
        if len(rungs) > 1 and all(weak.cost <= strong.cost for weak, strong in itertools.pairwise(rungs)):
            yield tuple(rungs)
