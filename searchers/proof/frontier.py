"""The frontier of the exact search: schedules as runs with one injection more, in the order of their cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import stored_schedule
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_DECIMALS
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.proof.parked import Parked, ParkedChildren, Turn
from chaosagent.searchers.seen.points import Candidate, Expander
from chaosagent.searchers.seen.trial_log import TrialLog

ROOM = 500
"""How many children of a search stay in memory, or twice as many."""


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
        first: Those before this number have been on the frontier already.
    """

    __slots__ = ("_known", "_next", "count", "exchanges", "last", "origin")

    def __init__(
        self,
        origin: Origin,
        known: Sequence[Candidate],
        count: int,
        last: float,
        exchanges: int,
        *,
        first: int = 0,
    ) -> None:
        self.origin, self.exchanges = origin, exchanges
        self._known, self.count, self.last = known, count, last
        self._next = first

    def next_child(self) -> Child | None:
        """Return the next in the order of the frontier, `None` when there is none."""
        child = self.child_from(self._next)
        self._next = self.count if child is None else child.number + 1
        return child

    def child_from(self, number: int) -> Child | None:
        """Return the first whose number is not smaller, in the order of the frontier; `None` when there is none."""
        known, last = self._known, self.last
        while number < self.count and known[number].position > last:
            number += 1
        if number >= self.count:
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
        if self.last == float("inf"):
            return self.count
        return sum(one.position <= self.last for one in self._known[: self.count])

    @property
    def candidates(self) -> list[Candidate]:
        """What could be added, in the order of cost."""
        return [one for one in self._known[: self.count] if one.position <= self.last]


def parked(child: Child, family: Family) -> Parked:
    """Return what has to be on disk of a child."""
    origin = family.origin
    return Parked(
        child[:5], origin.cost, origin.acted, str(origin.run.schedule), family.count, family.last, family.exchanges
    )


def revived(one: Parked, told: TrialLog, expander: Expander, *, in_order: bool) -> Child:
    """Return a child that was on disk.

    Args:
        one: What was kept of it.
        told: Has the run that shows what its parent does.
        expander: Finds what could be added to that.
        in_order: Rule R1 is in use.
    """
    *_, text, part, number = one.child
    parent, run = stored_schedule(text), told[stored_schedule(one.run)]
    known = expander.expand(run, after=one.acted if in_order else -1, to=parent).candidates
    origin = Origin(parent, one.cost, one.acted, run, part)
    child = Family(origin, known, one.affordable, one.last, one.exchanges, first=number).next_child()
    assert child is not None
    assert child[:5] == one.child
    return child


class Frontier:
    """The children that come next, in their order: the first in memory, the others on disk.

    Args:
        revive: Makes a child of what is on disk; `None` keeps all of them in memory.
    """

    def __init__(self, revive: Callable[[Parked], Child] | None = None) -> None:
        self._revive, self._room = revive, ROOM
        self._near: list[Child] = []
        self._far: list[Child] = []  # on their way to the disk
        self._limit: Turn | None = None  # of the first that is not near
        self._disk: ParkedChildren | None = None

    def __bool__(self) -> bool:
        return bool(self._near) or self._limit is not None

    @property
    def first(self) -> Child:
        """The child that comes first.

        Raises:
            IndexError: There is none.
        """
        if not self._near:
            self._bring_near()
        return self._near[0]

    def push(self, child: Child) -> None:
        """Add a child."""
        if self._limit is not None and child[:5] >= self._limit:
            self._far.append(child)
            if len(self._far) >= self._room:
                self._write()
            return
        heappush(self._near, child)
        if self._revive is not None and len(self._near) >= 2 * self._room:
            self._near.sort()  # a sorted list is a heap
            self._far += self._near[self._room :]
            del self._near[self._room :]
            self._limit = min(child[:5] for child in self._far)
            self._write()

    def pop(self) -> Child:
        """Take the child that comes first."""
        child = self.first
        heappop(self._near)
        return child

    def in_order(self) -> Iterator[Child]:
        """Yield those in memory, and their siblings, one after the other, and leave the frontier as it is.

        It must not change meanwhile.
        """
        near = self._near
        nearest = [(near[0], 0)] if near else []  # with the place in the heap, -1 for those that are not there yet
        while nearest:
            child, place = heappop(nearest)
            for further in (2 * place + 1, 2 * place + 2) if place >= 0 else ():
                if further < len(near):
                    heappush(nearest, (near[further], further))
            sibling = None if child.family is None else child.family.child_from(child.number + 1)
            if sibling is not None:
                heappush(nearest, (sibling, -1))
            yield child

    def _write(self) -> None:
        if self._disk is None:
            self._disk = ParkedChildren()
        self._disk.add(parked(child, child.family) for child in self._far if child.family is not None)
        self._far.clear()

    def _bring_near(self) -> None:
        if self._limit is None or self._revive is None:
            return
        self._write()
        assert self._disk is not None
        self._near = [self._revive(one) for one in self._disk.take(self._room)]
        self._limit = self._disk.first
