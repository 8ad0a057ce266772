"""One way in which a target's code asks for what differs from run to run, such as the real time."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Chance(enum.Enum):
    """What kind of value differs."""

    REAL_TIME = "real time"
    RANDOM = "random numbers"
    ADDRESS = "addresses in memory"


class ChanceRead(NamedTuple):
    """A call that returned such a value.

    Attributes:
        chance: What kind of value.
        call: The call, as the user knows it, such as `"time.time()"`.
        place: Where in the user's code, such as `"agent.py:12 in pay"`; in an installed package, when it has called.
        package: The installed package whose code has called; empty when the user's own has.
    """

    chance: Chance
    call: str
    place: str
    package: str = ""

    def __str__(self) -> str:
        return f"{self.call} at {self.place}"
