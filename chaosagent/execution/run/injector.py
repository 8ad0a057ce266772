"""Finds the injection that acts at a place: one of a schedule, or one that a policy chooses there."""

from __future__ import annotations

from collections.abc import Container

from chaosagent.execution.run.passage import Passage
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.observer import Observer
from chaosagent.faults.online import Player, Policy, Scores
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
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


class _Everywhere(Container[str]):
    """Holds every interface: a policy wants to see all of them."""

    def __contains__(self, interface: object) -> bool:
        return True


class OnlineInjector(Injector):
    """The injector of a run with a policy.

    Args:
        policy: Chooses.
        seed: Of the run.
    """

    __slots__ = ("_observer", "_player", "_unheard")

    def __init__(self, policy: Policy, seed: int) -> None:
        super().__init__(EMPTY)
        self.interfaces = _Everywhere()
        self._player, self._observer = Player(Scores(policy, seed)), Observer()
        self._unheard: list[Passage] = []

    def meet(self, passage: Passage) -> Injection | None:
        """Let the policy see a crossing that is asked, and return what it chooses."""
        self._hear()
        seen = self._observer.ask(passage.place, passage.door.boundary, passage.request_bytes)
        injection = self._player.choose(seen)
        if injection is None:
            self._unheard.append(passage)
            return None
        self._observer.inject(injection)
        return injection

    def _hear(self) -> None:
        """Let the policy hear what has been answered since it was asked last."""
        answered = [passage for passage in self._unheard if passage.answered >= 0]
        if answered:
            self._unheard = [passage for passage in self._unheard if passage.answered < 0]
            for passage in sorted(answered, key=lambda one: one.answered):
                self._observer.hear(passage.place.interface, passage.response_bytes)

    @property
    def schedule(self) -> Schedule:
        """What was chosen so far."""
        return schedule(self._player.chosen)
