"""The protocol of engines, and what they share: drawing schedules, and ddmin."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from chaosagent.experiments.benchmarks.planted.arena import Arena, Judged
from chaosagent.faults.injection import Hook, Injection, inject
from chaosagent.faults.operator import Operator
from chaosagent.faults.schedule import Schedule, schedule

REPEATS = 8
"""How often a stochastic target is run before a schedule counts as harmless: at a rate of 0.3, one in 17 is missed."""


class Engine(Protocol):
    """Looks for a cheap violating schedule; sees nothing of the target but the arena."""

    def __call__(self, arena: Arena, rng: random.Random) -> None:
        """Run schedules until the arena raises `Enough`, or until nothing is left to try.

        Args:
            arena: Hooks, levels, and the function that runs a schedule.
            rng: All chance.
        """
        ...


Reduce: TypeAlias = Callable[[Arena, Judged], Judged]
"""Makes a violating schedule cheaper."""


def drawn(arena: Arena, hooks: Iterable[Hook], rng: random.Random) -> Schedule:
    """Return a schedule with a random level at each of some hooks."""
    return schedule(inject(hook, rng.choice(arena.levels[hook])) for hook in hooks)


def still_violates(arena: Arena, candidate: Schedule) -> Judged | None:
    """Return what a violating run of a schedule told, `None` when none violates; a stochastic target gets several."""
    for _ in range(REPEATS if arena.stochastic else 1):
        judged = arena(candidate)
        if judged.violated:
            return judged
    return None


def ddmin(arena: Arena, found: Judged) -> Judged:
    """Reduce a violating schedule to one from which no injection can be left out, then weaken each.

    Source: Zeller and Hildebrandt 2002, with complements; what did not land is left out first.
    """
    best, parts = found, 2
    if parts <= len(best.landed):
        best = still_violates(arena, best.landed) or best
    while len(best.landed) >= 2:
        parts = min(parts, len(best.landed))
        chunks = _split(best.landed.injections, parts)
        reduced = _first_violating(arena, chunks)
        if reduced is not None:
            best, parts = reduced, 2
            continue
        complements = [[item for other in chunks if other is not chunk for item in other] for chunk in chunks]
        reduced = _first_violating(arena, complements) if parts > 2 else None
        if reduced is not None:
            best, parts = reduced, max(parts - 1, 2)
        elif parts >= len(best.landed):
            break
        else:
            parts = min(2 * parts, len(best.landed))
    return _weakened(arena, best)


def minimised(arena: Arena, found: Judged) -> Judged:
    """Reduce a violating schedule with the minimiser of the package."""
    return arena.shrink(found.landed) if len(found.landed) else found


def _split(items: Sequence[Injection], parts: int) -> list[Sequence[Injection]]:
    bounds = [len(items) * part // parts for part in range(parts + 1)]
    return [items[bounds[part] : bounds[part + 1]] for part in range(parts)]


def _first_violating(arena: Arena, candidates: Iterable[Sequence[Injection]]) -> Judged | None:
    for candidate in candidates:
        judged = still_violates(arena, Schedule(tuple(candidate)))
        if judged is not None and len(judged.landed):
            return judged
    return None


def _weakened(arena: Arena, found: Judged) -> Judged:
    """Exchange each injection for the cheapest at its hook that keeps the violation."""
    best = found
    for hook in [injection.hook for injection in found.landed]:
        rest = [injection for injection in best.landed if injection.hook != hook]
        now = [injection.operator for injection in best.landed if injection.hook == hook]
        for operator in _cheaper(arena, hook, now):
            judged = still_violates(arena, schedule([*rest, inject(hook, operator)]))
            if judged is not None and judged.cost < best.cost:
                best = judged
                break
    return best


def _cheaper(arena: Arena, hook: Hook, now: Sequence[Operator]) -> list[Operator]:
    limit = max((arena.cost(operator) for operator in now), default=0.0)
    return [operator for operator in arena.levels.get(hook, ()) if arena.cost(operator) < limit]


class Reduced:
    """Keeps what was reduced, and reduces what does not hold a known counterexample.

    Args:
        arena: Where schedules are run.
        reduce: Makes a violating schedule cheaper.
    """

    def __init__(self, arena: Arena, reduce: Reduce) -> None:
        self._arena, self._reduce = arena, reduce
        self._known: list[dict[Hook, float]] = []

    def take(self, candidate: Schedule) -> Judged:
        """Run a schedule, and reduce it if it violates in a new way; return what its own run told."""
        judged = self._arena(candidate)
        if judged.violated and not self._explained(judged.landed):
            # A violation of a stochastic target is a flake, most likely.
            again = still_violates(self._arena, judged.landed) if self._arena.stochastic else judged
            if again is not None and len(again.landed):
                found = self._reduce(self._arena, again)
                self._known.append(self._costs(found.landed))
        return judged

    def _explained(self, landed: Schedule) -> bool:
        """Whether a schedule holds a known counterexample, with injections at least as dear at the same hooks."""
        costs = self._costs(landed)
        return any(all(costs.get(hook, -1.0) >= cost for hook, cost in known.items()) for known in self._known)

    def _costs(self, landed: Schedule) -> dict[Hook, float]:
        return {injection.hook: self._arena.cost(injection.operator) for injection in landed}
