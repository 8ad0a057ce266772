"""The clock of a run, and the real ones that are never part of a trace."""

from __future__ import annotations

import asyncio
import datetime
import time as real_time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from chaosagent.event_loop.virtual_time import VirtualLoop

T = TypeVar("T")


class Timed(Protocol):
    """What a clock needs of an event loop."""

    def time(self) -> float: ...

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T: ...


class Clock:
    """The clock of one run: virtual seconds, or real ones where its target says so."""

    __slots__ = ("_loop", "_synchronous")

    of_study = True
    """Whether its run is one of a study, in which everything follows from the seed."""

    def __init__(self, loop: Timed, *, synchronous: bool = False) -> None:
        self._loop, self._synchronous = loop, synchronous

    def now(self) -> float:
        """Return the seconds since the run began."""
        return self._loop.time()

    def sleep(self, seconds: float) -> Any:
        """Wait for some seconds: `await clock.sleep(5)`, in a synchronous target without `await`."""
        waiting = asyncio.sleep(seconds)
        return self._loop.run_until_complete(waiting) if self._synchronous else waiting

    @property
    def virtual(self) -> bool:
        """Whether its seconds are virtual ones."""
        return isinstance(self._loop, VirtualLoop)

    @contextmanager
    def followed_by(self, follower: Callable[[float], object]) -> Iterator[None]:
        """Tell somebody the time whenever virtual time passes, for as long as a `with` block lasts."""
        loop = self._loop
        if not isinstance(loop, VirtualLoop):
            raise TypeError("real time is not told: it passes all the time")
        before, loop.follower = loop.follower, follower
        try:
            yield
        finally:
            loop.follower = before


def monotonic() -> float:
    """Return real seconds for progress and limits of real time; never part of a trace."""
    return real_time.monotonic()


def pause(seconds: float) -> None:
    """Wait for some real seconds."""
    real_time.sleep(seconds)


def age(path: Path) -> float:
    """Return the real seconds since a file was last written, at least 0."""
    return max(0.0, real_time.time() - path.stat().st_mtime)


def seconds_until(time_of_day: str) -> float:
    """Return the real seconds until the next such moment on this machine's clock, as `"08:00"`; at most a day."""
    now = datetime.datetime.now().astimezone()
    hour, minute = map(int, time_of_day.split(":"))
    moment = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return (moment - now).total_seconds() % 86_400


def cpu() -> float:
    """Return the processor seconds of this process."""
    return real_time.process_time()


def timestamp() -> str:
    """Return the real date and time in UTC, for information in stores; never part of a trace."""
    return real_time.strftime("%Y-%m-%dT%H:%M:%SZ", real_time.gmtime())
