"""Answers that are withheld: on which side of the commit the failure lies."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice
from chaosagent.vocabulary import Failure

WHEN = Choice("before", "after")
"""`before`: the call never reaches the world. `after`: the world has acted, only its answer is withheld."""

MEANS: Mapping[str, str] = {
    "before": "the call never reaches the service",
    "after": "the service has acted",
}


async def withhold(crossing: Crossing, proceed: Proceed, when: str, failure: Failure, seconds: float = 0.0) -> Response:
    """Return a failure instead of the answer.

    Args:
        crossing: The crossing to act on.
        proceed: Hands the request to the world; called only when `when` is `after`.
        when: `before` or `after` the world acts.
        failure: What the agent sees.
        seconds: Virtual seconds that pass before it sees it.
    """
    if when == "after":
        await proceed(crossing.request)
    if seconds > 0.0:
        await crossing.sleep(seconds)
    return Response(failure=failure)
