"""The frontier of the exact search: schedules as runs with one injection more, in the order of their cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_DECIMALS
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.seen.points import Candidate


class Child(NamedTuple):
    """A schedule of the frontier, as its parent and what is added; ordered by cost, then by content.

    Of equal costs those come first whose parent acted late: less is left to search behind them, and they are closer to
    what the run was made for. Only the first of the children of a run is on the frontier, and brings the others along:
    most are never asked.
    """

    cost: float
    earliness: int
    parent_text: str
    part: int
    number: int
    position: int
    parent: Schedule
    injection: Injection | None
    family: Family | None

    @property
    def schedule(self) -> Schedule:
        """What it is."""
        return self.parent if self.injection is None else self.parent.with_injection(self.injection)


@dataclass(frozen=True, slots=True)
class Origin:
    """A schedule to which injections are added.

    Attributes:
        schedule: What is in it.
        cost: Of that.
        acted: Position of the last of its injections that acted.
        run: That shows what it does: its own, or one with other injections besides, which came to the same state
            before the last of these acted.
        part: Number of the stretch that the run shows, where several runs have shown what the schedule does.
    """

    schedule: Schedule
    cost: float
    acted: int
    run: Evaluation
    part: int = 0


class Family:
    """The children of one origin, which go to the frontier one after the other.

    Args:
        origin: To what they add.
        known: What could be added to its run, in the order of cost.
        count: How many of these can be afforded: the first ones.
        last: Position behind which they are left out, as rule R3 makes them unnecessary.
        exchanges: How many states had got another owner before that was found out.
    """

    __slots__ = ("_count", "_known", "_last", "_next", "exchanges", "origin")

    def __init__(self, origin: Origin, known: Sequence[Candidate], count: int, last: float, exchanges: int) -> None:
        self.origin, self.exchanges = origin, exchanges
        self._known, self._count, self._last = known, count, last
        self._next = 0

    def next_child(self) -> Child | None:
        """Return the next in the order of the frontier, `None` when there is none."""
        child = self.child_from(self._next)
        self._next = self._count if child is None else child.number + 1
        return child

    def child_from(self, number: int) -> Child | None:
        """Return the first whose number is not smaller, in the order of the frontier; `None` when there is none."""
        known, last = self._known, self._last
        while number < self._count and known[number].position > last:
            number += 1
        if number >= self._count:
            return None
        cost, position, injection = known[number]
        origin = self.origin
        total = round(origin.cost + cost, COST_DECIMALS)
        return Child(
            total, -origin.acted, str(origin.schedule), origin.part, number, position, origin.schedule, injection, self
        )

    @property
    def waiting(self) -> int:
        """How many there are in all."""
        if self._last == float("inf"):
            return self._count
        return sum(one.position <= self._last for one in self._known[: self._count])

    def candidates(self, behind: float, until: float) -> list[Candidate]:
        """Return what could be added behind a position and up to another, in the order of cost."""
        until = min(until, self._last)
        return [one for one in self._known[: self._count] if behind < one.position <= until]

    @property
    def positions(self) -> set[int]:
        """Where something could be added."""
        last = self._last
        return {position for _, position, _ in self._known[: self._count] if position <= last}


def in_order(frontier: Sequence[Child]) -> Iterator[Child]:
    """Yield what would be taken from a frontier one after the other, and leave it as it is.

    Args:
        frontier: A heap of children, of each family the next one; must not change meanwhile.
    """
    nearest = [(frontier[0], 0)] if frontier else []  # with the place in the heap, -1 for those that are not there yet
    while nearest:
        child, place = heappop(nearest)
        for further in (2 * place + 1, 2 * place + 2) if place >= 0 else ():
            if further < len(frontier):
                heappush(nearest, (frontier[further], further))
        sibling = None if child.family is None else child.family.child_from(child.number + 1)
        if sibling is not None:
            heappush(nearest, (sibling, -1))
        yield child
