"""Places at which something was seen to be possible, and the calls that they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.schedule import Schedule

Call: TypeAlias = tuple[str, str, int]
"""Interface, agent and occurrence: a call with all attempts at it."""


@dataclass(slots=True)
class Site:
    """A place at which something was seen to be possible.

    Attributes:
        place: Where.
        needs: The faults of the smallest run that reached it; empty when the run without injections does.
        injections: What can be done there, one of each known outcome, cheapest first.
        landed: How often something landed there.
    """

    place: Place
    needs: Schedule
    injections: list[Injection] = field(default_factory=list)
    landed: int = 0


def call_of(place: Place) -> Call:
    """Return which call a place belongs to, whatever the attempt."""
    return place.interface, place.agent, place.occurrence
