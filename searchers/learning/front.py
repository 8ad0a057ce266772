"""The Pareto front of what was run: for each cost the run that came closest to a violation."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaosagent.faults.schedule import Schedule


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """What landed in a run, with both objectives; lower is better.

    Attributes:
        cost: Of what landed.
        margin: How far the run was from a violation.
        schedule: What landed.
    """

    cost: float
    margin: float
    schedule: Schedule = field(compare=False)


class Front:
    """Keeps the points that no other is at least as good as in both objectives; of equal ones the first.

    Cost: one search by halves for each point that is offered.
    """

    def __init__(self) -> None:
        self._points: list[Point] = []  # dearer ones have lower margins

    def __iter__(self) -> Iterator[Point]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, number: int) -> Point:
        return self._points[number]

    def __contains__(self, point: Point) -> bool:
        at = bisect_left(self._points, point)
        return at < len(self._points) and self._points[at].schedule == point.schedule

    def offer(self, point: Point) -> bool:
        """Take a point, in place of those that it is better than; return whether it was taken."""
        points = self._points
        at = bisect_right(points, point.cost, key=lambda known: known.cost)
        if at and points[at - 1].margin <= point.margin:
            return False
        first = bisect_left(points, point.cost, key=lambda known: known.cost)
        last = first
        while last < len(points) and points[last].margin >= point.margin:
            last += 1
        del points[first:last]
        insort(points, point)
        return True
