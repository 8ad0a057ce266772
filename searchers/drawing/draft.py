"""A schedule in the making: one injection at a place, what its place needs, and no dearer than it may be."""

from __future__ import annotations

from collections.abc import Iterable

from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.seen.pool import Pool


class Draft:
    """Collects injections that fit together.

    Args:
        pool: What is possible, what it costs, and what its places need.
        ceiling: The most that the schedule may cost.

    Attributes:
        left: What may still be spent.
    """

    def __init__(self, pool: Pool, ceiling: float) -> None:
        self._pool = pool
        self._chosen: dict[Place, Injection] = {}
        self.left = ceiling

    def __len__(self) -> int:
        return len(self._chosen)

    def add(self, injection: Injection) -> bool:
        """Add an injection together with those that bring about its place.

        Where something else acts already at the place of one of these, it must have been seen to do as well.

        Returns:
            Whether it was added; not when it is too dear, something else acts there, or it is known never to land.
        """
        pool, chosen = self._pool, self._chosen
        cost, place = pool.cost(injection), injection.place
        if cost > self.left or place in chosen or pool.is_idle(injection):
            return False
        site = pool.sites.get(place)
        if site is None or not site.needs:
            chosen[place] = injection
            self.left -= cost
            return True
        missing = [(place_of(need), need) for need in site.needs if chosen.get(place_of(need)) not in site.ways]
        total = cost + pool.cost_of(need for _, need in missing)
        if total > self.left or any(at in chosen for at, _ in missing):
            return False
        chosen.update(missing)
        chosen[place] = injection
        self.left -= total
        return True

    def add_all(self, injections: Iterable[Injection]) -> None:
        """Add those of some injections that fit, in their order."""
        for injection in injections:
            self.add(injection)

    @property
    def schedule(self) -> Schedule:
        """What was collected."""
        return Schedule(tuple(sorted(self._chosen.values(), key=str)))
