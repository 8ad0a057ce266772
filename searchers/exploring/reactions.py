"""How the target reacts to faults, as far as runs have shown: whether it notices them, and whether it then gives up.

An agent that notices a fault asks again, asks somebody else, or stops; what it asks next then differs from the run
without injections. Many agents stop when they have noticed too much. What goes unnoticed can be injected everywhere at
once; of the rest only as much as the agent bears.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple, TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.operator import ParameterValue
from chaosagent.faults.schedule import EMPTY

NOTICED_MAX = 4
"""Faults noticed in a run beyond this many are not told apart."""

BACKED = 2.0
"""How many observations at a place count as much as what is known from elsewhere."""

ENOUGH = 16
"""After so many observations of a fault at an interface no more are taken: the estimate is good enough."""

GUESS = 0.3
"""Of what was never seen: how likely a run ends behind a fault that was noticed."""

_Key: TypeAlias = tuple[str, str, tuple[tuple[str, ParameterValue], ...]]


class Reaction(NamedTuple):
    """What is expected behind a fault.

    Attributes:
        noticed: How likely the target notices it, in [0, 1].
        staying: How likely the run goes on, in [0, 1].
    """

    noticed: float
    staying: float


class Reactions:
    """Estimates how a target reacts; it follows from what was told.

    Attributes:
        changes: How often something was learned that changes estimates.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._next: dict[Place, Place | None] = {}
        self._seen: Counter[_Key] = Counter()
        self._noticed: Counter[_Key] = Counter()
        self._shares: dict[Injection, float] = {}
        self._known: defaultdict[_Key, list[Injection]] = defaultdict(list)
        self._ended_at: Counter[Place] = Counter()
        self._noticed_at: Counter[Place] = Counter()
        self._ended_after: Counter[int] = Counter()
        self._noticed_after: Counter[int] = Counter()
        self._keys: dict[Injection, tuple[_Key, _Key]] = {}
        self._ends: list[dict[Place, float]] = [{} for _ in range(NOTICED_MAX + 1)]
        self._expected: list[dict[Injection, Reaction]] = [{} for _ in range(NOTICED_MAX + 1)]

    def learn(self, evaluation: Evaluation, *, violated: bool) -> None:
        """Take over what a run has shown; an end in a violation is not one that the target chose."""
        if evaluation.status is Status.ERROR:
            return
        places = [crossing.place for crossing in evaluation.crossings]
        if evaluation.schedule == EMPTY:
            self._next = dict(zip(places, (*places[1:], None), strict=False))  # none at all has none behind it
            return
        injections = {injection.place: injection for injection in evaluation.effective.injections}
        count = 0
        for number, place in enumerate(places) if injections else ():
            injection = injections.get(place)
            if injection is None:
                continue
            first = place._replace(attempt=0) if place.attempt else place
            if first not in self._next:
                continue
            following = places[number + 1] if number + 1 < len(places) else None
            usual = self._next[first]
            noticed = following != usual
            self._note(injection, noticed=noticed)
            if noticed:
                self._note_end(place, count, ended=following is None and usual is not None and not violated)
                count += 1

    def _note(self, injection: Injection, *, noticed: bool) -> None:
        anywhere, here = self._keys_of(injection)
        if self._seen[here] >= ENOUGH:
            return
        for key in (anywhere, here):
            self._seen[key] += 1
            self._noticed[key] += noticed
        for known in self._known.pop(anywhere, ()):
            del self._shares[known]
        self._forget_expected()

    def _keys_of(self, injection: Injection) -> tuple[_Key, _Key]:
        known = self._keys.get(injection)
        if known is None:
            known = self._keys[injection] = _keys(injection)
        return known

    def _note_end(self, place: Place, before: int, *, ended: bool) -> None:
        before = min(before, NOTICED_MAX)
        for known in self._ends:
            known.clear()
        self._forget_expected()
        self._noticed_at[place] += 1
        self._ended_at[place] += ended
        self._noticed_after[before] += 1
        self._ended_after[before] += ended

    def _forget_expected(self) -> None:
        self.changes += 1
        for expected in self._expected:
            expected.clear()

    def noticed(self, injection: Injection) -> float:
        """Return about how likely the target notices a fault, in [0, 1]."""
        share = self._shares.get(injection)
        if share is None:
            share = 0.5
            keys = self._keys_of(injection)
            for key in keys:
                share = (self._noticed[key] + BACKED * share) / (self._seen[key] + BACKED)
            self._shares[injection] = share
            self._known[keys[0]].append(injection)
        return share

    def staying(self, injection: Injection, before: float = 0.0) -> float:
        """Return about how likely a run goes on behind a fault, in [0, 1].

        Args:
            injection: The fault.
            before: How many faults the target has noticed before.
        """
        return 1.0 - self.noticed(injection) * self.ending_at(injection.place, before)

    def ending_at(self, place: Place, before: float = 0.0) -> float:
        """Return about how likely a run ends behind a fault at a place that is noticed, in [0, 1].

        Args:
            place: Where.
            before: How many faults the target has noticed before.
        """
        after = distinguishable(before)
        known = self._ends[after].get(place)
        if known is None:
            share = (self._ended_after[after] + BACKED * GUESS) / (self._noticed_after[after] + BACKED)
            known = (self._ended_at[place] + BACKED * share) / (self._noticed_at[place] + BACKED)
            self._ends[after][place] = known
        return known

    def expected(self, injection: Injection, after: int) -> Reaction:
        """Return what is expected of a target behind a fault.

        Args:
            injection: The fault.
            after: How many faults the target has noticed before; see `distinguishable`.
        """
        known = self._expected[after].get(injection)
        if known is None:
            known = Reaction(self.noticed(injection), self.staying(injection, after))
            self._expected[after][injection] = known
        return known


def distinguishable(noticed: float) -> int:
    """Return how many faults were noticed, as far as these numbers are told apart."""
    return min(round(noticed), NOTICED_MAX) if noticed else 0


def _keys(injection: Injection) -> tuple[_Key, _Key]:
    """Return by what faults are alike: what is injected, wherever; and what is injected at an interface."""
    name, parameters = injection.operator_name, injection.parameters
    return ("", name, parameters), (injection.hook.interface, name, parameters)
