"""Finds the injection that acts at a place."""

from __future__ import annotations

from collections.abc import Container

from chaosagent.execution.passage import Passage
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.schedule import Schedule
from chaosagent.vocabulary import Boundary


class Injector:
    """The injections of one schedule, by place; an injection at a single place acts at most once.

    Attributes:
        interfaces: Those at which something is injected.
    """

    __slots__ = ("_many", "_singles", "interfaces")

    def __init__(self, schedule: Schedule) -> None:
        self._singles: dict[str, list[Injection]] = {}
        self._many: dict[str, list[Injection]] = {}
        for injection in schedule:
            kind = self._singles if injection.hook.single else self._many
            kind.setdefault(injection.hook.interface, []).append(injection)
        self.interfaces: Container[str] = frozenset(self._singles) | frozenset(self._many)

    def meet(self, passage: Passage) -> Injection | None:
        """Return what acts on a passage that is asked now."""
        return self.at(passage.place, passage.door.boundary)

    def at(self, place: Place, boundary: Boundary) -> Injection | None:
        """Return what acts at a place, and count it as used up if it was for one place."""
        found = self._singles.get(place.interface)
        if found:
            for number, injection in enumerate(found):
                if injection.hook.matches(place) and boundary in injection.operator.boundaries:
                    del found[number]
                    return injection
        for injection in self._many.get(place.interface, ()):
            if injection.hook.matches(place) and boundary in injection.operator.boundaries:
                return injection
        return None
