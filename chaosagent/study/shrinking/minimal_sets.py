"""The minimal counterexamples that a search knows, and which schedules hold one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from chaosagent.faults.injection import Hook, Injection
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import Schedule


class MinimalSets:
    """Minimal counterexamples of one search; none of them holds another.

    A schedule *holds* a counterexample when it has, at each hook of that, an injection that is at least as dear: then
    it is explained by it, and tells of no weakness of its own.

    Args:
        model: What injections cost.
    """

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self._known: dict[Schedule, dict[Hook, float]] = {}

    def __iter__(self) -> Iterator[Schedule]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, found: Schedule) -> bool:
        """Take a counterexample, unless it holds a known one, in place of those that hold it.

        Returns:
            Whether it was taken.
        """
        if self.held_by(found):
            return False
        costs = self._costs(found)
        for known in [known for known, theirs in self._known.items() if _holds(theirs, costs)]:
            del self._known[known]
        self._known[found] = costs
        return True

    def held_by(self, injections: Iterable[Injection]) -> bool:
        """Whether a schedule holds a known counterexample."""
        if not self._known:
            return False
        costs = self._costs(injections)
        return any(_holds(costs, known) for known in self._known.values())

    def _costs(self, injections: Iterable[Injection]) -> dict[Hook, float]:
        return {injection.hook: self._model.of(injection.operator) for injection in injections}


def _holds(costs: Mapping[Hook, float], known: Mapping[Hook, float]) -> bool:
    """Whether a schedule holds a counterexample, by what both cost at their hooks."""
    return len(known) <= len(costs) and all(costs.get(hook, -1.0) >= cost for hook, cost in known.items())
