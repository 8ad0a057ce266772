"""An alarm of a study's limit of time interrupts what runs, and leaves no other trace."""

from __future__ import annotations

import signal
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chaosagent.clock import monotonic
from chaosagent.study.loop import deadline
from chaosagent.study.loop.deadline import Deadline, TimeIsUp


@contextmanager
def over(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give a context in which the time is over, and each SIGALRM an alarm; none rings by itself."""
    monkeypatch.setattr(deadline, "GRACE_SECONDS", 3600.0)
    study = Deadline(monotonic() - 7200.0, 1)
    with study.alarmed():
        study.interrupt_search()
        yield


async def agent() -> None:
    """Do nothing."""


def test_a_coroutine_that_an_alarm_drops_before_it_began_is_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> object:
        dropped = agent()
        signal.raise_signal(signal.SIGALRM)
        return dropped

    with over(monkeypatch), pytest.raises(TimeIsUp):
        call()


def test_an_alarm_that_a_finaliser_swallows_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Watched:
        """Something that ends."""

    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)

    with over(monkeypatch):
        ended = Watched()
        reference = weakref.ref(ended, lambda _: signal.raise_signal(signal.SIGALRM))
        del ended

    assert reference() is None
    assert not printed


def test_what_runs_has_a_moment_to_end_by_itself_when_the_time_was_over_before() -> None:
    study = Deadline(monotonic() - 7200.0, 1)
    with study.alarmed():
        study.interrupt_search()
        assert signal.getitimer(signal.ITIMER_REAL)[0] == pytest.approx(deadline.GRACE_SECONDS, abs=0.4)
        study.silence()
