"""The frontier of the exact search: schedules as runs with one injection more, in the order of their cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    number: int
    position: int
    parent: Schedule
    injection: Injection | None
    family: Family | None


@dataclass(frozen=True, slots=True)
class Origin:
    """A schedule to which injections are added.

    Attributes:
        schedule: What is in it.
        cost: Of that.
        acted: Position of the last of its injections that acted.
        run: That shows what it does: its own, or one with other injections besides, which came to the same state
            before the last of these acted.
    """

    schedule: Schedule
    cost: float
    acted: int
    run: Evaluation


class Family:
    """The children of one origin, which go to the frontier one after the other.

    Args:
        origin: To what they add.
        candidates: What could be added, with their numbers, in the order of cost.
    """

    __slots__ = ("_candidates", "_next", "origin")

    def __init__(self, origin: Origin, candidates: Iterable[tuple[int, Candidate]]) -> None:
        self.origin = origin
        self._candidates = list(candidates)
        self._next = 0

    def next_child(self) -> Child | None:
        """Return the next in the order of the frontier, `None` when there is none."""
        if self._next == len(self._candidates):
            return None
        number, (cost, position, injection) = self._candidates[self._next]
        self._next += 1
        origin = self.origin
        total = round(origin.cost + cost, COST_DECIMALS)
        return Child(total, -origin.acted, str(origin.schedule), number, position, origin.schedule, injection, self)

    @property
    def candidates(self) -> list[Candidate]:
        """What could be added, in the order of cost."""
        return [candidate for _, candidate in self._candidates]
