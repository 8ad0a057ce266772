"""Toxics: what a Toxiproxy server does to the connections of one call."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import Choice, Levels

STREAM = Choice("downstream", "upstream")
"""`downstream`: what the server sends, so that it has acted. `upstream`: what is sent to it, so that it has not."""

MEANS: Mapping[str, str] = {"downstream": "from the server", "upstream": "to the server"}

SECONDS_MAX = 60.0
"""Real seconds: a run lasts as long as its toxics."""


def seconds(*levels: float) -> Levels:
    """Return a domain of real seconds, in whole milliseconds at least one."""
    return Levels(*levels, limits=(0.001, SECONDS_MAX))


def milliseconds(number: float) -> int:
    """Return seconds in Toxiproxy's unit."""
    return max(1, round(number * 1000))


async def disturbed(crossing: Crossing, proceed: Proceed, toxic: Toxic) -> Response:
    """Make the call while a toxic is on its connections, and hand on what comes back."""
    async with crossing.disturbed(toxic):
        return await proceed(crossing.request)
