"""States that some run came to and that none has followed undisturbed.

In a run of many faults one may leave something behind, and those after it end the run before that comes to anything.
What alone leads to its state shows what it comes to.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.searchers.seen.course import NOTHING, State
from chaosagent.searchers.seen.states import States

INJECTIONS_MAX = 5
"""Longest schedules that are proposed for one."""

SAMPLE = 8
"""How many of them are looked at for a schedule."""


class UnfollowedStates:
    """Keeps them; it follows from what was told.

    Args:
        states: What is known of the states that runs come through; told of each run before this is.
    """

    def __init__(self, states: States) -> None:
        self._states = states
        self._kept: list[State] = []
        self._numbers: dict[State, int] = {}

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._kept)

    def learn(self) -> None:
        """Take over what the last run has shown."""
        for state, acted in self._states.latest:
            if not acted:
                self._leave_out(state)
            stretch = self._states.after(state, acted)
            following = None if stretch is None else stretch.next_state
            if following is None or following in self._numbers or self._states.after(following, NOTHING) is not None:
                continue
            self._numbers[following] = len(self._kept)
            self._kept.append(following)

    def _leave_out(self, state: State) -> None:
        number = self._numbers.pop(state, None)
        if number is None:
            return
        last = self._kept.pop()
        if last != state:
            self._kept[number] = last
            self._numbers[last] = number

    def draw(self, rng: random.Random, is_taken: Callable[[Schedule], bool]) -> Schedule | None:
        """Return what leads to one of them and nothing else, `None` when none of several will do.

        Args:
            rng: Draws it.
            is_taken: Whether a schedule was run already, or is out.
        """
        for state in rng.sample(self._kept, min(SAMPLE, len(self._kept))):
            path = self._states.path(state)
            if path is None or len(path.injections) > INJECTIONS_MAX:
                continue
            short = schedule(path.injections)
            if short != EMPTY and not is_taken(short):
                return short
        return None
