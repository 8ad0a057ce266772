"""Packs: one run that answers for many schedules with one injection more than another.

Where the next schedules to be run differ in one injection each, at places with checkpoints between them, one run with
all of these injections shows what each does from the state of the common part, as long as those before it leave nothing
behind. Behind one that does, the run shows what the others do there, which is wanted later, or not at all.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from chaosagent.faults.injection import Injection
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.searchers.frontier import Family
from chaosagent.searchers.points import Candidate
from chaosagent.searchers.states import Mark, State, States

SAFE = 0.5
"""An injection at least so likely not to end the run is one behind which others still tell something."""

Staying = Callable[[Injection], float]
"""About how likely a run goes on behind an injection."""


class Question(NamedTuple):
    """What follows on a state with some injections; open until a run has shown it.

    Attributes:
        state: At a checkpoint.
        acted: What acts behind it, before the next one.
    """

    state: State
    acted: frozenset[Injection]


class _Open(NamedTuple):
    """A candidate of a family whose question is open."""

    mark: Mark
    question: Question
    candidate: Candidate


class Packer:
    """Makes packs out of the children of one origin.

    Args:
        states: What is known.
    """

    def __init__(self, states: States) -> None:
        self._states = states
        self._open: dict[Schedule, list[_Open]] = {}
        self._out: dict[Schedule, list[Question]] = {}
        self._asked: set[Question] = set()

    def told(self, pack: Schedule) -> None:
        """Note that a schedule was run."""
        self._asked.difference_update(self._out.pop(pack, ()))

    def pack(self, family: Family, below: float, staying: Staying, rng: random.Random) -> Schedule | None:
        """Return a pack of children of a family, `None` when fewer than two of them fit into one.

        Args:
            family: Of the schedule that comes next.
            below: Only children that cost less.
            staying: About how likely a run goes on behind an injection.
            rng: Breaks ties.
        """
        stretches = self._stretches(family, below)
        if len(stretches) < 2:
            return None
        risky = [number for number, found in enumerate(stretches) if min(map(staying, _injections(found))) < SAFE]
        last = risky[-1] if risky else -1
        chosen: list[_Open] = []
        for number, found in enumerate(stretches):
            safe = [one for one in found if staying(one.candidate.injection) >= SAFE]
            wanted = [one for one in found if one not in safe] if number == last else safe
            if wanted:
                chosen.append(min(wanted, key=lambda one: (one.candidate.cost, rng.random())))
        if len(chosen) < 2:
            return None
        made = schedule([*family.origin.schedule, *(one.candidate.injection for one in chosen)])
        self._out[made] = [one.question for one in chosen]
        self._asked.update(self._out[made])
        return made

    def _stretches(self, family: Family, below: float) -> list[list[_Open]]:
        """Return the candidates whose questions are open, by the checkpoint before they act, in order."""
        known = self._open.get(family.origin.schedule)
        found = self._questions(family) if known is None else known
        found = [one for one in found if self._states.after(*one.question) is None]
        self._open[family.origin.schedule] = found
        affordable = below - family.origin.cost
        stretches: dict[Mark, list[_Open]] = {}
        for one in found:
            if one.candidate.cost < affordable and one.question not in self._asked:
                stretches.setdefault(one.mark, []).append(one)
        return list(stretches.values())

    def _questions(self, family: Family) -> list[_Open]:
        origin = family.origin
        if origin.run.schedule != origin.schedule:
            return []  # all of them act before the next checkpoint
        course = self._states.course(origin.run)
        found = []
        for candidate in family.left():
            mark, acted = course.stretch_of(candidate.position)
            found.append(_Open(mark, Question(mark.state, acted | {candidate.injection}), candidate))
        return sorted(found, key=lambda one: one.mark.position)


def _injections(found: list[_Open]) -> list[Injection]:
    return [one.candidate.injection for one in found]
