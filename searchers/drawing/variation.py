"""Variation operators made for schedules: what mutation and crossover mean for faults at places in time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.drawing.draft import Draft
from chaosagent.searchers.seen.pool import Pool, Site

MUTATIONS_MORE = 1 / 4
"""How likely a mutation is followed by another."""

BY_TIME = 1 / 2
"""Share of the crossovers that cut both parents at a moment; the others choose at each place."""


DRAWS_MAX = 20
"""How often an injection is drawn until one is not passed over."""


class Variation:
    """Makes new schedules of known ones; everything it adds was seen to be possible.

    Args:
        pool: What is possible where.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._moves: tuple[tuple[_Move, float], ...] = (
            (self.added, 0.35),
            (self.dropped, 0.15),
            (self.moved, 0.15),
            (self.with_another_level, 0.15),
            (self.with_another_operator, 0.2),
        )

    def mutated(self, schedule: Iterable[Injection], rng: random.Random) -> list[Injection]:
        """Return a schedule after one or more moves; adding one where the move drawn has nothing to act on."""
        injections = list(schedule)
        while True:
            move = rng.choices([move for move, _ in self._moves], [weight for _, weight in self._moves])[0]
            injections = move(injections, rng) or self.added(injections, rng)
            if rng.random() >= MUTATIONS_MORE:
                return injections

    def crossed(self, one: Schedule, other: Schedule, rng: random.Random) -> list[Injection]:
        """Return what acts before a moment in one schedule and after it in another, or at each place one's or other's.

        Places count in the order in which runs came to them.
        """
        by_place = [{place_of(injection): injection for injection in parent} for parent in (one, other)]
        places = sorted({*by_place[0], *by_place[1]}, key=lambda place: (self._position(place), place))
        if rng.random() < BY_TIME:
            cut = rng.randint(0, len(places))
            sides = [0] * cut + [1] * (len(places) - cut)
        else:
            sides = [rng.randrange(2) for _ in places]
        found = [by_place[side].get(place) for place, side in zip(places, sides, strict=True)]
        return [injection for injection in found if injection is not None]

    def repaired(self, injections: Sequence[Injection], ceiling: float, rng: random.Random) -> Schedule:
        """Return what fits of a schedule, in random order: with what its places need, and no dearer than a ceiling."""
        draft = Draft(self._pool, ceiling)
        draft.add_all(rng.sample(injections, len(injections)))
        return draft.schedule

    # ------------------------------------------------------------------ moves

    def added(self, injections: Sequence[Injection], rng: random.Random) -> list[Injection]:
        """Return a schedule with one more injection, at a place drawn uniformly from those left."""
        taken = {place_of(injection) for injection in injections}
        free = [site for site in self._pool.sites.values() if site.place not in taken]
        if not free:
            return list(injections)
        for _ in range(DRAWS_MAX):
            drawn = rng.choice(rng.choice(free).candidates).injection
            if not self._pool.is_passed_over(drawn, rng):
                break
        return [*injections, drawn]

    def dropped(self, injections: Sequence[Injection], rng: random.Random) -> list[Injection]:
        """Return a schedule without one of its injections; nothing when it has one alone."""
        left = list(injections)
        if len(left) > 1:
            left.pop(rng.randrange(len(left)))
            return left
        return []

    def moved(self, injections: Sequence[Injection], rng: random.Random) -> list[Injection]:
        """Return a schedule with one injection moved to the call or attempt before or after it, if that is free."""
        taken = {place_of(injection) for injection in injections}

        def neighbours(injection: Injection) -> list[Injection]:
            place = place_of(injection)
            row = sorted(
                site.place
                for site in self._pool.sites.values()
                if (site.place.interface, site.place.agent) == (place.interface, place.agent)
            )
            if place not in row:
                return []
            at = row.index(place)
            beside = [self._pool.sites[row[near]] for near in (at - 1, at + 1) if 0 <= near < len(row)]
            return [one for site in beside if site.place not in taken for one in _alike(site, injection)]

        return _exchanged(injections, neighbours, rng)

    def with_another_level(self, injections: Sequence[Injection], rng: random.Random) -> list[Injection]:
        """Return a schedule with one injection at other parameters."""

        def levels(injection: Injection) -> list[Injection]:
            here = self._at(injection)
            return [one for one in here if one.operator_name == injection.operator_name and one != injection]

        return _exchanged(injections, levels, rng)

    def with_another_operator(self, injections: Sequence[Injection], rng: random.Random) -> list[Injection]:
        """Return a schedule with another operator at the place of one injection."""

        def operators(injection: Injection) -> list[Injection]:
            return [one for one in self._at(injection) if one.operator_name != injection.operator_name]

        return _exchanged(injections, operators, rng)

    def _at(self, injection: Injection) -> list[Injection]:
        site = self._pool.sites.get(place_of(injection))
        return [] if site is None else [candidate.injection for candidate in site.candidates]

    def _position(self, place: Place) -> int:
        site = self._pool.sites.get(place)
        return -1 if site is None else site.position


_Move = Callable[[Sequence[Injection], random.Random], list[Injection]]


def _alike(site: Site, injection: Injection) -> list[Injection]:
    """Return the same fault at another place; where it is not possible, the same operator at any level."""
    same = [
        candidate.injection
        for candidate in site.candidates
        if candidate.injection.operator_name == injection.operator_name
    ]
    return [one for one in same if one.parameters == injection.parameters] or same


def _exchanged(
    injections: Sequence[Injection], choices: Callable[[Injection], list[Injection]], rng: random.Random
) -> list[Injection]:
    """Return a schedule with one injection in place of another; nothing where none of them has a choice."""
    for place in rng.sample(range(len(injections)), len(injections)):
        found = choices(injections[place])
        if found:
            return [*injections[:place], rng.choice(found), *injections[place + 1 :]]
    return []
