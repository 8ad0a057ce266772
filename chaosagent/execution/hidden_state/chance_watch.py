"""Notes which calls of a target's code ask for the real time, a random number or an address.

A profile function sees every call of a function written in C, also of one that a module has taken before (`from time
import time`). It slows a run down several times, so only some runs are watched; the others pay nothing.

It cannot see what C code calls by itself: `functools.partial(time.time)`, `map`, the seed that `random.Random()` draws,
and the address in a default `repr`.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import date
from types import FrameType
from typing import Any

from chaosagent.execution.crash_location import Owner, owner_of, package_of, place_in
from chaosagent.faults.chance_read import Chance, ChanceRead
from chaosagent.targets.deterministic import pins_clocks, pins_random_numbers

READS_MAX = 32
"""So many different calls of one run are noted."""

_CLOCKS = frozenset(
    {
        *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "clock_gettime"),
        *("process_time", "process_time_ns", "thread_time", "thread_time_ns", "clock_gettime_ns"),
    }
)
_CLOCKS_WITHOUT_ARGUMENT: Mapping[str, int] = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
"""These take the real time when they get no more arguments than that."""
_OF_DATES = frozenset({"now", "utcnow", "today"})
_ENTROPY = frozenset({"urandom", "getrandom"})
_OF_SYSTEM = ("posix", "nt")
_DRAWS = frozenset({"random", "getrandbits"})
_SEEDING = frozenset({"seed", "setstate"})
_PINNED_BY_C = frozenset({"time", "time_ns", "localtime", "gmtime", "strftime", "clock_gettime", "clock_gettime_ns"})
"""`deterministic` pins these also where a module has taken them before."""
_WATCHED = (
    _CLOCKS
    | frozenset(_CLOCKS_WITHOUT_ARGUMENT)
    | _OF_DATES
    | _ENTROPY
    | _DRAWS
    | _SEEDING
    | frozenset({"id", "generate_time_safe", "times"})
)
_QUIET = ("logging", "asyncio", "importlib", "warnings")
"""What these packages of the standard library read stays in them: times in log records, timers of an event loop."""
_GLOBAL: Any = getattr(random, "_inst", None)


@contextlib.contextmanager
def watch_chance(package: str = "") -> Iterator[list[ChanceRead]]:
    """Note such calls for as long as a `with` block lasts, in this thread and in those that it starts.

    The list fills as they come, each call and place once. It stays empty where the program is profiled otherwise.

    Args:
        package: Of the target; its code is the user's own, also where it is installed.
    """
    watch = _ChanceWatch(package)
    if sys.getprofile() is not None:
        yield watch.reads
        return
    threading.setprofile(watch.notice)
    sys.setprofile(watch.notice)
    try:
        yield watch.reads
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        watch.over = True


class _ChanceWatch:
    def __init__(self, package: str) -> None:
        self._package = package
        self.reads: list[ChanceRead] = []
        self.over = False
        self._seeded: set[int] = set()

    def notice(self, frame: FrameType, event: str, called: Any) -> None:
        """Take an event of the interpreter."""
        if event != "c_call" or called.__name__ not in _WATCHED or self.over:
            return
        found = self._chance_of(frame, called)
        if found is not None:
            self._note(frame, *found)

    def _chance_of(self, frame: FrameType, called: Any) -> tuple[Chance, str] | None:
        """Return what a function returns that differs, and its name; `None` for all others."""
        name, owner = called.__name__, getattr(called, "__self__", None)
        module = getattr(called, "__module__", None)
        if module == "time":
            reads = name in _CLOCKS or _argument_count(frame) == _CLOCKS_WITHOUT_ARGUMENT.get(name)
            pinned = name in _PINNED_BY_C and pins_clocks()
            return (Chance.REAL_TIME, f"time.{name}()") if reads and not pinned else None
        if name in _OF_DATES and isinstance(owner, type) and issubclass(owner, date):
            return None if pins_clocks() else (Chance.REAL_TIME, f"{owner.__name__}.{name}()")
        if isinstance(owner, random.Random):
            return self._draw_of(frame, owner, name)
        if name in _ENTROPY and module in _OF_SYSTEM:
            return Chance.RANDOM, f"os.{name}()"
        if name == "times" and module in _OF_SYSTEM:
            return Chance.REAL_TIME, "os.times()"
        if module == "_uuid":
            return Chance.REAL_TIME, "uuid.uuid1()"
        return (Chance.ADDRESS, "id()") if name == "id" and module == "builtins" else None

    def _draw_of(self, frame: FrameType, generator: random.Random, name: str) -> tuple[Chance, str] | None:
        """Say whether a generator draws that was not seeded in this run: one with a seed of this run repeats."""
        if name in _SEEDING:
            by_chance = frame.f_code.co_name == "seed" and frame.f_locals.get("a", "") is None
            if by_chance:
                self._seeded.discard(id(generator))
            elif name == "seed" or _caller_of(frame) is not Owner.OURS:  # `deterministic` sets and resets a state
                self._seeded.add(id(generator))
            return None
        if name not in _DRAWS or id(generator) in self._seeded:
            return None
        if generator is _GLOBAL:
            return None if pins_random_numbers() else (Chance.RANDOM, f"random.{name}()")
        return Chance.RANDOM, f"{name}() of a generator that was not seeded in this run"

    def _note(self, frame: FrameType, chance: Chance, call: str) -> None:
        """Note a call by the user's code or an installed package, perhaps through the standard library."""
        caller: FrameType | None = frame
        while caller is not None and (owner := owner_of(caller)) is Owner.PYTHON:
            module, function = str(caller.f_globals.get("__name__", "")), caller.f_code.co_name
            if module.partition(".")[0] in _QUIET or chance is Chance.ADDRESS:
                return
            if not caller.f_code.co_filename.startswith("<") and not call.endswith("in this run"):
                call = f"{module}.{function}()"
            caller = caller.f_back
        if caller is None or owner is Owner.OURS or len(self.reads) >= READS_MAX:
            return
        is_own = owner is Owner.USER or str(caller.f_globals.get("__name__", "")).partition(".")[0] == self._package
        package = "" if is_own else package_of(caller)
        read = ChanceRead(chance, call, place_in(caller, caller.f_lineno), package)
        if read not in self.reads:
            self.reads.append(read)


def _caller_of(frame: FrameType) -> Owner | None:
    """Return whose code has called the standard library."""
    caller: FrameType | None = frame
    while caller is not None and (owner := owner_of(caller)) is Owner.PYTHON:
        caller = caller.f_back
    return None if caller is None else owner


def _argument_count(frame: FrameType) -> int:
    """Return how many arguments the call that a frame makes has, as its instruction says."""
    code = frame.f_code.co_code
    return code[frame.f_lasti + 1] if 0 <= frame.f_lasti < len(code) - 1 else -1
