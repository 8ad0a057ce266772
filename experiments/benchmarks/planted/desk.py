"""What the agents of the planted targets have at hand: doors to read-only services, retries, and checks of answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.targets.target import Door, Run
from chaosagent.vocabulary import Outcome, StatusError

FAILURES = (TimeoutError, ConnectionError, StatusError)
ITEMS = 5
SHAPES = ("list", "level", "text")
Accepts: TypeAlias = Callable[[Plain], bool]


class TooManyErrorsError(Exception):
    """The agent has seen so many failures that it trusts nothing any more."""


class Answer(NamedTuple):
    """An answer that the agent took for usable.

    Attributes:
        value: What came.
        waited: Virtual seconds that it took.
    """

    value: Plain
    waited: float

    @property
    def lost(self) -> int:
        """How many items of a list are missing."""
        return ITEMS - item_count(self.value)


def answer_of(shape: str, name: str, number: int, items: int = ITEMS) -> Plain:
    """Return what a service answers: a list of items, a level, or a sentence."""
    if shape == "list":
        return {"items": [f"{name} {number}.{item}" for item in range(items)]}
    return {"level": 7} if shape == "level" else f"{name} {number} is in order"


def item_count(value: Plain) -> int:
    """Return how many items an answer holds; -1 when it is no list of items."""
    items = value.get("items") if isinstance(value, Mapping) else None
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return -1
    return len(items)


def complete(value: Plain) -> bool:
    """Whether an answer of any shape is all there."""
    if isinstance(value, str):
        return value.endswith(" is in order")
    level = value.get("level") if isinstance(value, Mapping) else None
    return item_count(value) == ITEMS or (isinstance(level, int) and level > 0)


def losing(*, at_most: int, at_least: int = 0) -> Accepts:
    """Return a check that takes a list for usable with some items missing, or with none."""

    def accepts(value: Plain) -> bool:
        lost = ITEMS - item_count(value)
        return lost == 0 or at_least <= lost <= at_most

    return accepts


ANY_LIST = losing(at_most=ITEMS)
"""Takes every list of items, however short."""


class Desk:
    """The agent's side of one run.

    Args:
        run: The doors to the world.
        checkpoints: Whether the agent says where it has come to rest, for rule R3.
        wary: Whether the agent has had enough when attempts at a second call fail.
    """

    def __init__(self, run: Run, *, checkpoints: bool, wary: bool = False) -> None:
        self.run, self._checkpoints, self._wary = run, checkpoints, wary
        self._strained = False
        self._doors: dict[str, Door] = {}
        self._asked: dict[str, int] = {}
        self._rested: list[Plain] = []
        self.attempts = 0

    def open(self, services: Mapping[str, str], *, items: int = ITEMS) -> None:
        """Open the doors to some services, by name and shape of their answers; they change nothing."""
        for name, shape in services.items():

            def look_up(number: int, name: str = name, shape: str = shape) -> Plain:
                return answer_of(shape, name, number, items)

            self._doors[name] = self.run.service(name, {"get": look_up}, read_only=True)

    async def fetch(
        self,
        name: str,
        *,
        attempts: int = 1,
        accepts: Accepts = complete,
        patience: float | None = None,
        borne: tuple[type[Exception], ...] = FAILURES,
    ) -> Answer | None:
        """Ask a service until an answer is usable.

        Between two attempts, and when all have failed, the agent rests, with the state in which it rested last: so it
        must not have changed since.

        Args:
            name: Of the service.
            attempts: How often it is asked at most.
            accepts: Which answers are usable.
            patience: Virtual seconds after which an attempt is given up; `None` to wait.
            borne: After which failures it is asked again; others are raised.

        Returns:
            The answer; `None` when no attempt brought a usable one.

        Raises:
            TooManyErrorsError: An attempt has failed, one at another call before, and the agent is wary.
        """
        failed_before = self._strained and self._wary
        number = self._asked[name] = self._asked.get(name, 0) + 1
        ask = self._doors[name].ask("get", number=number)
        for attempt in range(attempts):
            if attempt:
                self._strained = True
                self._checkpoint(f"attempt {attempt} at {name}", self._rested)
            self.attempts += 1
            begun = self.run.clock.now()
            try:
                async with asyncio.timeout(patience):
                    value = await ask.attempt()
                if accepts(value):
                    waited = round(self.run.clock.now() - begun, 6)  # equal at whatever time it was asked
                    return Answer(value, waited)
            except borne:
                pass
            if failed_before:
                raise TooManyErrorsError
        self._strained = True
        self._checkpoint(f"no answer from {name}", self._rested)
        return None

    def rest(self, place: str, *state: Plain) -> None:
        """Say that from here on nothing matters but this state; the time does not."""
        self._rested = [place, *state]
        self._checkpoint(place, list(state))

    def _checkpoint(self, place: str, state: list[Plain]) -> None:
        if self._checkpoints:
            everything = [self._strained and self._wary, *state]
            self.run.checkpoint(place, everything, clock_matters=False, artifacts_matter=False)


def stopped(reason: str) -> Outcome:
    """Return the outcome of an agent that stops before anything goes wrong."""
    return Outcome(f"A colleague will look into it: {reason}.", success=False, state={"distance": 1.0})


def finished(distance: float) -> Outcome:
    """Return the outcome of an agent that went through with it.

    Args:
        distance: From a violation, in [0, 1]; 0 is one.
    """
    return Outcome("Done.", success=distance > 0.0, state={"distance": distance})


def halves(*facts: bool) -> float:
    """Return the distance from a violation that needs all of some facts: the share that is missing."""
    return 1.0 - sum(facts) / len(facts)


def shapes_for(names: Sequence[str], lists: Sequence[str]) -> dict[str, str]:
    """Return the shape of each service: a list where it is needed, the others by turns."""
    return {name: "list" if name in lists else SHAPES[place % len(SHAPES)] for place, name in enumerate(names)}
