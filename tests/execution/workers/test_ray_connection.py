"""Connecting to Ray leaves the signals of this process as they were."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from chaosagent.execution.workers.ray_connection import RayConnection


class RayThatIsTerminated:
    """Does what Ray does that gets SIGTERM while it starts: has an alarm abort the process, and exits."""

    def is_initialized(self) -> bool:
        return False

    def init(self, **_: Any) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)
        signal.signal(signal.SIGALRM, lambda *_: os.abort())
        signal.alarm(3)
        raise SystemExit(1)


def test_sigterm_while_ray_starts_is_an_interrupt_and_no_alarm_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", "/tmp")
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)]
    connection = RayConnection(RayThatIsTerminated(), "")

    with pytest.raises(KeyboardInterrupt):
        connection.open(1)

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)] == handlers


def test_an_alarm_that_was_set_before_still_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", "/tmp")
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    quiet = SimpleNamespace(is_initialized=lambda: False, init=lambda **_: signal.alarm(0), shutdown=lambda: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        connection = RayConnection(quiet, "")
        connection.open(1)
        signal.pause()
        connection.close()
    finally:
        signal.signal(signal.SIGALRM, before)

    assert rung == [signal.SIGALRM]
