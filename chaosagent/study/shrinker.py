"""Shrinks the violations of a search while it goes on, one at a time, so that every searcher gains by it."""

from __future__ import annotations

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.study.minimise import Reducing, reducing

WAITING_MAX = 64


class Shrinker:
    """Asks for the runs that reduce violations until nothing of them can be spared.

    A violation that holds all of a minimal one is not reduced: it would most likely end there again.

    Args:
        contract: Id of the contract.
        space: The operators that an injection may be exchanged for.
    """

    def __init__(self, contract: str, space: Space) -> None:
        self._contract, self._space = contract, space
        self._waiting: list[Evaluation] = []
        self._minimal: list[Schedule] = []
        self._under_way: Reducing | None = None
        self._wanted: Schedule | None = None

    @property
    def busy(self) -> bool:
        """Whether a violation is being reduced."""
        return self._under_way is not None

    def add(self, violation: Evaluation) -> None:
        """Take a violation that is to be reduced."""
        if len(self._waiting) < WAITING_MAX:
            self._waiting.append(violation)
        self._begin_next()

    def take(self) -> Schedule | None:
        """Return the schedule to be run next, once; `None` when there is none, or the last one is still out."""
        wanted, self._wanted = self._wanted, None
        return wanted

    def told(self, evaluation: Evaluation) -> None:
        """Take what the schedule told that was taken last."""
        if self._under_way is None:
            return
        try:
            self._wanted = self._under_way.send(evaluation)
        except StopIteration as end:
            smallest: Evaluation = end.value
            self._minimal.append(smallest.effective)
            self._under_way = None
            self._begin_next()

    def _begin_next(self) -> None:
        """Begin with the violation of the fewest injections that does not hold all of a minimal one."""
        if self._under_way is not None:
            return
        self._waiting = [found for found in self._waiting if not self._holds_minimal(found.effective)]
        if not self._waiting:
            return
        smallest = min(self._waiting, key=lambda found: (len(found.effective), str(found.schedule)))
        self._waiting.remove(smallest)
        self._under_way = reducing(smallest, self._contract, self._space)
        try:
            self._wanted = next(self._under_way)
        except StopIteration:  # there is nothing to reduce
            self._minimal.append(smallest.effective)
            self._under_way = None
            self._begin_next()

    def _holds_minimal(self, schedule: Schedule) -> bool:
        return any(set(minimal) <= set(schedule) for minimal in self._minimal)
