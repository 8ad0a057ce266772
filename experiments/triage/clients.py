"""The layer below the agents: clients that repeat what failed on the way, with a pause."""

from __future__ import annotations

import asyncio

from chaosagent.canonical import Plain
from chaosagent.clock import Clock
from chaosagent.targets.target import Ask
from chaosagent.vocabulary import StatusError

PAUSE_SECONDS = 0.5
PAUSE_SECONDS_MAX = 30.0
REPEATABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
TRANSIENT = (TimeoutError, ConnectionError, StatusError)


async def answer_of(ask: Ask, clock: Clock, *, attempts_max: int = 2, seconds_max: float | None = None) -> Plain:
    """Return the answer to a logical call, attempted again while that makes sense.

    Args:
        ask: The call.
        clock: Of the run.
        attempts_max: How often it is attempted.
        seconds_max: How long one attempt is waited for, `None` as long as its transport waits.

    Raises:
        TimeoutError: The last attempt was not answered.
        ConnectionError: The connection broke in the last attempt.
        StatusError: The service refused, or was still not able to answer in the last attempt.
    """
    for number in range(1, attempts_max):
        try:
            return await _attempt(ask, seconds_max)
        except TRANSIENT as error:
            if not repeatable(error):
                raise
            await clock.sleep(pause(error, number))
    return await _attempt(ask, seconds_max)


def repeatable(error: Exception) -> bool:
    """Whether a failure may be gone at the next attempt."""
    return not isinstance(error, StatusError) or error.status in REPEATABLE


def pause(error: Exception, number: int) -> float:
    """Return the seconds to wait after the `number`-th failure: what the service asks for, or longer each time."""
    asked = error.retry_after if isinstance(error, StatusError) else None
    return min(PAUSE_SECONDS_MAX, asked if asked is not None else PAUSE_SECONDS * 2.0 ** (number - 1))


async def _attempt(ask: Ask, seconds_max: float | None) -> Plain:
    if seconds_max is None:
        answer: Plain = await ask.attempt()
    else:
        async with asyncio.timeout(seconds_max):
            answer = await ask.attempt()
    return answer
