"""Ray starts and ends undisturbed: signals that come meanwhile do what they do once it has."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from chaosagent.clock import pause
from chaosagent.errors import StudyError
from chaosagent.execution.workers.ray_connection import RayConnection

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


class SignalledRay:
    """Gets signals while it starts and while it ends, and sets the alarm of Ray's code in C, which aborts the process.

    Args:
        at_start: What it gets while it starts.
        at_end: What it gets while it ends.
        error: How its start fails.
    """

    def __init__(
        self, at_start: tuple[int, ...] = (), at_end: tuple[int, ...] = (), error: Exception | None = None
    ) -> None:
        self._at_start, self._at_end, self._error = at_start, at_end, error
        self.done: list[str] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, **_: Any) -> None:
        self._do("started", self._at_start)
        if self._error is not None:
            raise self._error

    def shutdown(self) -> None:
        self._do("ended", self._at_end)

    def _do(self, step: str, signals: tuple[int, ...]) -> None:
        for number in signals:
            signal.setitimer(signal.ITIMER_REAL, 3.0)
            os.kill(os.getpid(), number)
        self.done.append(step)


@pytest.fixture(autouse=True)
def _sigterm_interrupts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make SIGTERM an interrupt, as the command line does; in the end all must be as before."""
    monkeypatch.setenv("RAY_TMPDIR", "/tmp")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    handlers = [signal.getsignal(number) for number in SIGNALS]
    yield
    assert [signal.getsignal(number) for number in SIGNALS] == handlers
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    "signals", [(signal.SIGTERM,), (signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)]
)
def test_an_interrupt_while_ray_starts_comes_when_ray_has_started_and_ended_again(signals: tuple[int, ...]) -> None:
    ray, told = SignalledRay(at_start=signals), list[str]()

    with pytest.raises(KeyboardInterrupt):
        RayConnection(ray, "", told.append).open(1)

    assert ray.done == ["started", "ended"]
    assert told == ["interrupted while Ray starts or ends: waiting for Ray, which can take some seconds"]


def test_an_interrupt_while_ray_ends_comes_when_it_has_ended() -> None:
    ray = SignalledRay(at_end=(signal.SIGINT, signal.SIGINT))
    connection = RayConnection(ray, "", print)
    connection.open(1)

    with pytest.raises(KeyboardInterrupt):
        connection.close()

    assert ray.done == ["started", "ended"]


def test_a_ray_that_does_not_start_is_ended_and_can_be_started_again() -> None:
    ray = SignalledRay(error=RuntimeError("no port\nand more"))
    connection = RayConnection(ray, "", print)

    with pytest.raises(StudyError, match=r"Ray cannot be reached at this machine: no port$"):
        connection.open(1)
    ray._error = None
    connection.open(1)
    connection.close()

    assert ray.done == ["started", "ended"] * 2


def test_an_alarm_that_was_set_before_still_rings() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    quiet = SimpleNamespace(is_initialized=lambda: False, init=lambda **_: signal.alarm(0), shutdown=lambda: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        connection = RayConnection(quiet, "", print)
        connection.open(1)
        while not rung:
            pause(0.01)
        connection.close()
    finally:
        signal.signal(signal.SIGALRM, before)

    assert rung == [signal.SIGALRM]
