"""Time, ids, random numbers and temporary files that a target takes straight from Python, pinned to its run."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaosagent.clock import Clock
from chaosagent.errors import UsageError
from chaosagent.extras import require
from chaosagent.seeds import derive, derive_seed

if TYPE_CHECKING:
    from chaosagent.targets.target import Run

BEGINNING = 1_767_225_600
"""When runs begin, in seconds since 1970: 2026-01-01T00:00:00Z."""

NODE = 0x02_00_00_00_00_01
"""The machine in ids that name one (`uuid1`): a locally administered address."""


@contextlib.contextmanager
def deterministic(run: Run) -> Iterator[None]:
    """Pin what a target takes straight from Python, for as long as a `with` block lasts.

    Inside, random numbers (`random`, `os.urandom`, `secrets`, `uuid`, and `numpy.random` where it is loaded) and the
    names that `tempfile` makes up follow from the run's seed, and the time (`time`, `datetime`) begins at
    2026-01-01T00:00:00Z, in the time zone UTC, and goes on with the run's clock; nothing takes any of the processor's.
    Outside everything is as it was. It acts on the whole process, so that other threads see it, too; a process makes
    one run at a time. What a module has taken before stays real: `from os import urandom`, `from time import
    monotonic`, or a generator that it has made. Temporary files stand in a folder of the seed, which is removed at the
    end; a run that wants one waits until no other run of its seed has it.

    In real time (`clock="wall"`) the time is left alone, and in a run that is not one of a study
    (`chaosagent.UntracedRun`) everything is.

    Args:
        run: The run.

    Raises:
        MissingExtraError: time-machine is not installed.
    """
    if not run.clock.of_study:
        yield
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(pinned_temporary_files(run.seed))
        stack.enter_context(_random_numbers(run.seed))
        stack.enter_context(_noted("random"))
        if run.clock.virtual:
            stack.enter_context(_time_of(run.clock))
            stack.enter_context(_noted("time"))
        yield


_PINNED: list[str] = []
"""What is pinned now, once for each open block."""


def pins_clocks() -> bool:
    """Whether `time` and `datetime` do not return the real time now, also where a target has pinned them by itself."""
    machine = sys.modules.get("time_machine")
    return "time" in _PINNED or (machine is not None and bool(machine.escape_hatch.is_travelling()))


def pins_random_numbers() -> bool:
    """Whether the global generator of `random` follows from the seed of a run now."""
    return "random" in _PINNED


@contextlib.contextmanager
def _noted(pinned: str) -> Iterator[None]:
    _PINNED.append(pinned)
    try:
        yield
    finally:
        _PINNED.remove(pinned)


@contextlib.contextmanager
def _random_numbers(seed: int) -> Iterator[None]:
    drawn = derive(seed, "deterministic", "urandom")
    before = random.getstate()
    random.setstate(derive(seed, "deterministic", "random").getstate())
    with contextlib.ExitStack() as stack:
        for module in (os, random):
            stack.enter_context(_replaced(module, "urandom" if module is os else "_urandom", drawn.randbytes))
        for owner, seeding in _seeds(drawn):
            stack.enter_context(_replaced(owner, "seed", seeding))
        stack.enter_context(_replaced(uuid, "getnode", lambda: NODE))
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            stack.callback(numpy.set_state, numpy.get_state())
            numpy.seed(derive_seed(seed, "deterministic", "numpy") % 2**32)
        try:
            yield
        finally:
            random.setstate(before)


def _seeds(drawn: random.Random) -> Iterator[tuple[Any, Callable[..., None]]]:
    """Yield who seeds, and a function that draws the seed where none is given; the usual one asks the system."""
    of_class, of_module = random.Random.seed, random.seed  # noqa: TID251  # it is what is replaced

    def given(a: Any) -> Any:
        return drawn.getrandbits(256) if a is None else a

    yield random.Random, lambda generator, a=None, version=2: of_class(generator, given(a), version)
    yield random, lambda a=None, version=2: of_module(given(a), version)


@contextlib.contextmanager
def _time_of(clock: Clock) -> Iterator[None]:
    machine = require("time_machine", extra="deterministic", needed_by="chaosagent.deterministic")
    travel = machine.travel(BEGINNING + clock.now(), tick=False)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_in_utc())
        coordinates = stack.enter_context(travel)
        # The library leaves these alone, as event loops need them; that of a run has a clock of its own.
        for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
            now = (lambda: 0.0) if name.endswith("_time") else clock.now
            stack.enter_context(_replaced(time, name, now))
            stack.enter_context(_replaced(time, f"{name}_ns", lambda now=now: round(now() * 1e9)))
        for name in ("clock_gettime", "clock_gettime_ns"):
            if hasattr(time, name):  # not on Windows
                stack.enter_context(_replaced(time, name, _clock_of(clock, getattr(time, name), name)))
        # And these take the real time where they are given none.
        ctime, asctime = time.ctime, time.asctime
        stack.enter_context(
            _replaced(time, "ctime", lambda at=None: asctime(time.localtime()) if at is None else ctime(at))
        )
        stack.enter_context(_replaced(time, "asctime", lambda at=None: asctime(time.localtime() if at is None else at)))
        stack.enter_context(clock.followed_by(lambda now: coordinates.move_to(BEGINNING + now)))
        yield


_OF_THE_WALL = ("CLOCK_REALTIME", "CLOCK_REALTIME_COARSE", "CLOCK_TAI", "CLOCK_UTC")
_OF_THE_PROCESSOR = ("CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID", "CLOCK_VIRTUAL", "CLOCK_PROF")


def _clock_of(clock: Clock, real: Callable[[int], float], name: str) -> Callable[[int], float]:
    """Return what stands in the place of `clock_gettime` or `clock_gettime_ns`."""
    wall, processor = (
        {getattr(time, one) for one in names if hasattr(time, one)} for names in (_OF_THE_WALL, _OF_THE_PROCESSOR)
    )
    known = {number for one, number in vars(time).items() if one.startswith("CLOCK_")}

    def seconds(number: int) -> float:
        if number in wall:
            return BEGINNING + clock.now()
        return 0.0 if number in processor else clock.now()

    def of(number: int) -> float:
        if number not in known:
            return real(number)  # which says what is wrong with it
        return round(seconds(number) * 1e9) if name.endswith("_ns") else seconds(number)

    return of


@contextlib.contextmanager
def _in_utc() -> Iterator[None]:
    """Let the local time zone be UTC, on whichever machine."""
    before = os.environ.get("TZ")
    _set_zone("UTC0")
    try:
        yield
    finally:
        _set_zone(before)


def _set_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    if hasattr(time, "tzset"):  # not on Windows
        time.tzset()


@contextlib.contextmanager
def _replaced(module: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    finally:
        setattr(module, name, before)


NAME_CHARACTERS = 8
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789_"


@contextlib.contextmanager
def pinned_temporary_files(seed: int) -> Iterator[None]:
    """Pin the folder and the names that `tempfile` gives, for as long as a `with` block lasts.

    The folder is one of the user and the seed, below the system's; it is empty when it is first asked for, and removed
    at the end. Equal names in two processes would collide, so a run waits there until no other one of the same seed has
    the folder.

    Raises:
        UsageError: When the folder is asked for: it belongs to somebody else.
    """
    if isinstance(getattr(tempfile._gettempdir, "__self__", None), _Folder):  # type: ignore[attr-defined]  # not public
        yield  # within another such block
        return
    folder = _Folder(Path(tempfile.gettempdir()), seed)
    with contextlib.ExitStack() as stack:
        stack.callback(folder.leave)
        for name, pinned in (("_gettempdir", folder.entered), ("_name_sequence", _Names(seed))):
            stack.callback(setattr, tempfile, name, getattr(tempfile, name))
            setattr(tempfile, name, pinned)
        yield


class _Names:
    """Names without an end, as `tempfile` makes them."""

    def __init__(self, seed: int) -> None:
        self._drawn: random.Random = derive(seed, "deterministic", "tempfile")

    def __iter__(self) -> _Names:
        return self

    def __next__(self) -> str:
        return "".join(self._drawn.choices(_ALPHABET, k=NAME_CHARACTERS))


class _Folder:
    """The folder of one seed, held from when it is first asked for.

    Args:
        system: The folder that `tempfile` would take.
        seed: Of the run.
    """

    def __init__(self, system: Path, seed: int) -> None:
        self._mine = system / f"chaosagent-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        self._path = self._mine / f"seed-{seed}"
        self._lock: int | None = None

    def entered(self) -> str:
        """Return the folder, once no other run has it."""
        if self._lock is None:
            self._mine.mkdir(mode=0o700, exist_ok=True)
            _check_owner(self._mine)
            self._lock = os.open(self._mine / f"{self._path.name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            if sys.platform != "win32":  # there, runs of one seed may meet
                import fcntl

                fcntl.flock(self._lock, fcntl.LOCK_EX)
            shutil.rmtree(self._path, ignore_errors=True)  # of a process that was killed
            self._path.mkdir(mode=0o700, exist_ok=True)
        return str(self._path)

    def leave(self) -> None:
        """Remove the folder and let others have it."""
        if self._lock is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _check_owner(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
        raise UsageError(
            f"{folder} belongs to somebody else, and temporary files of runs would stand in it. Remove it, or set "
            "TMPDIR to a folder of your own."
        )
