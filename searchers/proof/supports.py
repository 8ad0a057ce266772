"""What the outcomes of passing runs were derived from, and what a schedule must still hit to change them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, Injection, Place
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.vocabulary import Boundary


class Support(NamedTuple):
    """The calls from which a passing run derived its outcome.

    Attributes:
        size: How many they are.
        text: Orders supports of equal size.
        calls: Each as its first attempt.
        injected: What was injected there.
        cost: Of the cheapest injection that could hit one of them.
        schedule: Of the run.
    """

    size: int
    text: str
    calls: frozenset[Place]
    injected: frozenset[Injection]
    cost: float
    schedule: Schedule

    def is_kept_by(self, schedule: Iterable[Injection]) -> bool:
        """Whether a schedule does to these calls what was done in that run, so that it passes, too."""
        return frozenset(one for one in schedule if call_of(one.hook) in self.calls) == self.injected


class Supports:
    """All supports that are known.

    Args:
        space: Says what it costs to hit a call.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._known: dict[tuple[frozenset[Place], frozenset[Injection]], Support] = {}
        self._ordered: list[Support] = []

    def add(self, evaluation: Evaluation) -> Support | None:
        """Take the support of a passing run; return it unless it is known or the run has none."""
        if not evaluation.support:
            return None
        calls = frozenset(evaluation.support)
        injected = frozenset(one for one in evaluation.schedule if call_of(one.hook) in calls)
        if (calls, injected) in self._known:
            return None
        text = "; ".join(map(str, sorted(calls))) + " | " + str(evaluation.schedule)
        cost = min(self._cheapest(call) for call in calls)
        support = self._known[calls, injected] = Support(len(calls), text, calls, injected, cost, evaluation.schedule)
        insort(self._ordered, support, key=_order)
        return support

    def kept_by(self, schedule: Schedule) -> Support | None:
        """Return a support that a schedule does not touch, so that it passes; `None` when it touches all."""
        return next((support for support in self._ordered if support.is_kept_by(schedule)), None)

    def cost_to_hit(self, schedule: Schedule) -> float:
        """Return what has to be added to a schedule at least before it touches all supports.

        Supports without a call in common need an injection each, and the small ones are taken first.

        Source: lineage-driven fault injection (Alvaro, Rosen and Hellerstein 2015), with a bound on the cheapest
        hitting set in place of a solver.
        """
        total, used = 0.0, set[Place]()
        for support in self._ordered:
            if used.isdisjoint(support.calls) and support.is_kept_by(schedule):
                used |= support.calls
                total += support.cost
        return total

    def _cheapest(self, call: Place) -> float:
        boundary = Boundary(call.interface.partition(":")[0])
        return min(
            (priced.cost for priced in self._space.at(boundary, call.interface, call.agent)), default=float("inf")
        )


def call_of(hook: Hook) -> Place:
    """Return the call at which an injection at one place acts, as its first attempt."""
    return Place(hook.interface, hook.agent, hook.first)


def _order(support: Support) -> tuple[int, str]:
    return support.size, support.text
