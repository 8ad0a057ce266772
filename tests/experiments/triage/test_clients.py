"""The clients below the agents repeat what may be gone at the next attempt, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from chaosagent.canonical import Plain
from chaosagent.clock import Clock
from chaosagent.event_loop.virtual_time import virtual_loop
from chaosagent.experiments.triage.clients import PAUSE_SECONDS_MAX, answer_of, pause
from chaosagent.vocabulary import ActionBlocked, StatusError


class _Ask:
    """Fails with what it is given, then answers."""

    def __init__(self, *failures: Exception, seconds: float = 0.0) -> None:
        self._failures = list(failures)
        self._seconds = seconds
        self.attempts = 0

    async def attempt(self) -> Plain:
        self.attempts += 1
        await asyncio.sleep(self._seconds)
        if self._failures:
            raise self._failures.pop(0)
        return "answer"


def _play(work: Callable[[Clock], Awaitable[Plain]]) -> tuple[Plain, float]:
    loop = virtual_loop(turns_max=1_000, seconds_max=3_600.0)
    clock = Clock(loop)
    answer = loop.run_until_complete(work(clock))
    now = clock.now()
    loop.end()
    return answer, now


@pytest.mark.parametrize(
    "failure", [TimeoutError("late"), ConnectionError("reset"), StatusError(503), StatusError(429)]
)
def test_what_failed_on_the_way_is_attempted_again_after_a_pause(failure: Exception) -> None:
    ask = _Ask(failure)

    answer, seconds = _play(lambda clock: answer_of(ask, clock))

    assert (answer, ask.attempts, seconds) == ("answer", 2, 0.5)


def test_a_refusal_is_not_attempted_again() -> None:
    ask = _Ask(StatusError(404, "no order"))

    with pytest.raises(StatusError, match="404 no order"):
        _play(lambda clock: answer_of(ask, clock))

    assert ask.attempts == 1


def test_what_the_mediator_blocks_is_not_attempted_again() -> None:
    ask = _Ask(ActionBlocked("not allowed"))

    with pytest.raises(ActionBlocked, match="not allowed"):
        _play(lambda clock: answer_of(ask, clock))

    assert ask.attempts == 1


def test_the_last_failure_is_told_when_attempts_are_used_up() -> None:
    ask = _Ask(StatusError(503, "first"), StatusError(503, "second"), TimeoutError("third"))

    with pytest.raises(TimeoutError, match="third"):
        _play(lambda clock: answer_of(ask, clock, attempts_max=3))

    assert ask.attempts == 3


def test_an_attempt_is_given_up_after_its_time() -> None:
    ask = _Ask(seconds=60.0)

    async def work(clock: Clock) -> Plain:
        with pytest.raises(TimeoutError, match=r"^$"):
            await answer_of(ask, clock, attempts_max=2, seconds_max=10.0)
        return None

    assert _play(work) == (None, 20.5)
    assert ask.attempts == 2


def test_pauses_double_follow_the_service_and_have_a_limit() -> None:
    assert [pause(TimeoutError(), number) for number in (1, 2, 3)] == [0.5, 1.0, 2.0]
    assert pause(StatusError(429, retry_after=7.0), 1) == 7.0
    assert pause(StatusError(429, retry_after=86_400.0), 1) == PAUSE_SECONDS_MAX
    assert pause(TimeoutError(), 20) == PAUSE_SECONDS_MAX
