"""Shrinks the violations of a search while it goes on, one after the other, so that every searcher gains by it."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.study.minimal import MinimalSets
from chaosagent.study.minimise import KnownToHold, Reduction
from chaosagent.study.searcher import Core

WAITING_MAX, WAITING_MAX_ALL = 64, 4096
"""How many violations wait to be reduced: where one cheapest is wanted, and where all minimal ones are."""


class _Waiting(NamedTuple):
    """A violation that waits; those of the fewest injections come first."""

    size: int
    text: str
    number: int
    violation: Evaluation


class Shrinker:
    """Asks for the runs that reduce violations until nothing of them can be spared.

    A violation that holds a minimal one is not reduced: it would most likely end there again.

    Args:
        contract: Id of the contract.
        space: The operators that an injection may be exchanged for.
        waiting_max: How many violations wait at most; further ones are left out.
        core: Which injections of a violation most likely matter.
        known_to_hold: Says of which schedules it is known that they do not break the contract.

    Attributes:
        changes: How often what is minimal has changed.
    """

    def __init__(
        self,
        contract: str,
        space: Space,
        *,
        waiting_max: int = WAITING_MAX,
        core: Core | None = None,
        known_to_hold: KnownToHold | None = None,
    ) -> None:
        self._core, self._known_to_hold = core, known_to_hold
        self._contract, self._space, self._waiting_max = contract, space, waiting_max
        self._waiting: list[_Waiting] = []
        self._minimal = MinimalSets(space.model)
        self._runs: dict[Schedule, Evaluation] = {}
        self.changes = self._added = 0
        self._under_way: Reduction | None = None
        self._begun_with: Evaluation | None = None
        self._wanted: Schedule | None = None

    @property
    def busy(self) -> bool:
        """Whether a violation is being reduced."""
        return self._under_way is not None

    @property
    def minimal(self) -> list[Evaluation]:
        """The runs of the minimal violations known, in the order in which they were found; none holds another."""
        return [self._runs[schedule] for schedule in self._minimal]

    @property
    def left(self) -> list[Evaluation]:
        """The violations that were not reduced to their end, and hold no minimal one."""
        begun = [] if self._begun_with is None else [self._begun_with]
        waiting = [one.violation for one in sorted(self._waiting)]
        return [found for found in (*begun, *waiting) if not self._minimal.held_by(found.effective)]

    def add(self, violation: Evaluation) -> None:
        """Take a violation that is to be reduced."""
        if len(self._waiting) >= self._waiting_max:
            self._waiting = [one for one in self._waiting if not self._minimal.held_by(one.violation.effective)]
            heapq.heapify(self._waiting)
        if len(self._waiting) < self._waiting_max and not self._minimal.held_by(violation.effective):
            self._added += 1
            size, text = len(violation.effective), str(violation.schedule)
            heapq.heappush(self._waiting, _Waiting(size, text, self._added, violation))
        if self._under_way is None:
            self._begin_next()
            self._go_on()

    def keep(self, minimal: Evaluation) -> None:
        """Take a violation of which nothing can be spared, unless it holds one that is known."""
        if self._minimal.add(minimal.effective):
            self._runs[minimal.effective] = minimal
            self.changes += 1

    def take(self) -> Schedule | None:
        """Return the schedule to be run next, once; `None` when there is none, or it waits for those that are out."""
        wanted, self._wanted = self._wanted, None
        if wanted is None and self._under_way is not None:
            wanted = self._under_way.take()
        return wanted

    def told(self, evaluation: Evaluation) -> None:
        """Take what a schedule told that was taken."""
        if self._under_way is not None:
            self._under_way.told(evaluation)
            self._go_on()

    def _go_on(self) -> None:
        """Make sure that something is wanted next, unless it depends on what is out."""
        while self._under_way is not None and self._wanted is None:
            self._wanted = self._under_way.take()
            if self._wanted is not None or self._under_way.out_count:
                return
            self.keep(self._under_way.best)
            self._begin_next()

    def _begin_next(self) -> None:
        """Begin with the violation of the fewest injections that does not hold a minimal one."""
        self._under_way = self._begun_with = None
        while self._waiting:
            smallest = heapq.heappop(self._waiting).violation
            if not self._minimal.held_by(smallest.effective):
                self._begun_with = smallest
                self._under_way = Reduction(
                    smallest,
                    self._contract,
                    self._space,
                    first=None if self._core is None else self._core(smallest),
                    known_to_hold=self._known_to_hold,
                )
                return
