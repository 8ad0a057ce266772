"""Notes what a target does to the outside without a door: files, connections and programs that it opens in a run.

Faults cannot reach these, their answers are not recorded, and a search really makes them, thousands of times.
Python reports such calls to audit hooks. A hook cannot be removed, so it is installed with the first run of a process.
It looks only at code that runs for the target: what stands behind a door is the world's, and what chaosagent does is
not the target's.

It cannot see what was open before the run, such as a connection pool made when the target was loaded; what C code opens
by itself (`dbm.gnu`, database drivers, gRPC); what programs do that the target starts; and threads that the target
starts other than by `asyncio.to_thread`, which do not know for whom they work. Python's own files, those of installed
packages and those of the operating system are not told when they are read.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
import sysconfig
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

from chaosagent.execution.crash_location import Owner, owner_of, package_of, place_in
from chaosagent.execution.hidden_state.file_watch import (
    DEVICES,
    MADE,
    QUIET,
    TEMPORARY,
    WRITING,
    database_in,
    path_of,
    shown_path,
)
from chaosagent.execution.run.actor import INSIDE
from chaosagent.faults.outside_access import AccessKind, OutsideAccess
from chaosagent.trace.redact import Redactor

ACCESSES_MAX = 16
"""So many different accesses of one run are noted."""

_PROGRAMS = {"subprocess.Popen": 1, "os.system": 0, "os.posix_spawn": 0, "os.spawn": 1, "os.exec": 0}
"""Events of programs that are started, and which of their arguments says what."""

_CONNECTIONS = {"socket.connect": 1, "socket.sendto": 1, "socket.getaddrinfo": 0}
_REMOVED = {"os.remove": 0, "os.rmdir": 0}
_CHANGED = {**MADE, **_REMOVED}
_EVENTS = TEMPORARY | _CHANGED.keys() | _CONNECTIONS.keys() | _PROGRAMS.keys() | {"open", "sqlite3.connect"}
_READERS = QUIET | frozenset({"traceback", "inspect", "tokenize", "zipimport", "pkgutil", "encodings", "zoneinfo"})
"""What these packages of the standard library read is Python's own business."""

_OF_THE_SYSTEM = (*DEVICES, "/etc/", "/usr/", "/lib/", "/lib64/", "/run/systemd/")

_WATCH: ContextVar[_AccessWatch | None] = ContextVar("chaosagent_access_watch", default=None)
_installed: list[bool] = []


@contextlib.contextmanager
def watch_accesses(redactor: Redactor | None = None) -> Iterator[list[OutsideAccess]]:
    """Note such accesses of the code that runs in a `with` block, and of its tasks; the list fills as they come.

    Args:
        redactor: Takes secrets out of what is noted.
    """
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_hear)
    watch = _AccessWatch(redactor)
    token = _WATCH.set(watch)
    try:
        yield watch.found
    finally:
        watch.over = True
        _WATCH.reset(token)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """Take an event of the interpreter; an exception would end what the target does."""
    if event in _EVENTS and (watch := _WATCH.get()) is not None and not INSIDE.get() and not watch.over:
        with contextlib.suppress(Exception):
            watch.take(event, arguments, sys._getframe(1))


class _AccessWatch:
    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self.found: list[OutsideAccess] = []
        self.over = False
        self._own = set[str]()  # temporary files and folders of this run

    def take(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        """Take an event of one of the kinds that are listed above."""
        if event in TEMPORARY:
            self._own.add(os.path.realpath(arguments[0]))
            return
        kind, what = _access_of(event, arguments)
        if not what or len(self.found) >= ACCESSES_MAX:
            return
        if kind in (AccessKind.READS, AccessKind.WRITES):
            if not self._is_told(what, kind):
                return
            what = shown_path(what)
        if self._redactor is not None:
            what = self._redactor.text(what)
        access = OutsideAccess(kind, what, _place(frame))
        is_named = event == "socket.connect" and any(map(access.is_address_of, self.found))
        if access.place and access not in self.found and not is_named:
            self.found.append(access)

    def _is_told(self, file: str, kind: AccessKind) -> bool:
        """Whether a file is neither a device, nor below a folder that the run has made, nor of the installation."""
        real = os.path.realpath(file)
        if real.startswith(DEVICES) or not self._own.isdisjoint({real, *map(str, Path(real).parents)}):
            return False
        return kind is AccessKind.WRITES or not real.startswith(_installation())


def _access_of(event: str, arguments: tuple[Any, ...]) -> tuple[AccessKind, str]:
    """Return what an event means, and of what; nothing is said of what is open already."""
    if event in _PROGRAMS:
        return AccessKind.STARTS, _program(arguments[_PROGRAMS[event]])
    if event in _CONNECTIONS:
        is_name = event == "socket.getaddrinfo"
        return AccessKind.CONNECTS, _address(arguments[:2] if is_name else arguments[_CONNECTIONS[event]])
    if event == "open":
        path, _, flags = arguments
        file = path_of(path)
        is_file = bool(file) and not os.path.isdir(file)
        return AccessKind.WRITES if flags & WRITING else AccessKind.READS, file if is_file else ""
    if event == "sqlite3.connect":
        return AccessKind.WRITES, database_in(path_of(arguments[0]))
    return AccessKind.WRITES, path_of(arguments[_CHANGED[event]])


def _program(given: object) -> str:
    """Return the name of a program without its arguments, which may be secret."""
    if isinstance(given, str | bytes | os.PathLike):
        words = os.fsdecode(given)
        with contextlib.suppress(ValueError):  # quotes that do not close
            words = next(iter(shlex.split(words)), "")
    else:
        words = os.fsdecode(next(iter(given), "")) if isinstance(given, list | tuple) else ""
    return os.path.basename(words)


def _address(given: object) -> str:
    if isinstance(given, str | bytes):
        return os.fsdecode(given).lstrip("\0")
    if not isinstance(given, tuple) or len(given) < 2 or not isinstance(given[0], str | bytes):
        return ""
    host = os.fsdecode(given[0])
    return f"[{host}]:{given[1]}" if ":" in host else f"{host}:{given[1]}"


@functools.cache
def _installation() -> tuple[str, ...]:
    """Return where Python, its packages and the operating system have their files."""
    folders = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
    return (*_OF_THE_SYSTEM, *(f"{os.path.realpath(folder)}{os.sep}" for folder in sorted(folders)))


def _place(frame: FrameType | None) -> str:
    """Return where the target's own code does it, or which package; empty where others do it for themselves."""
    package = ""
    while frame is not None:
        owner = owner_of(frame)
        if owner is Owner.USER:
            return place_in(frame, frame.f_lineno)
        if owner is Owner.OURS:
            is_loop = str(frame.f_globals.get("__name__", "")).startswith(_RUNNING)
            return f"in {package}" if package and is_loop else ""
        if owner is Owner.PYTHON and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _READERS:
            return ""
        package = package_of(frame) if owner is Owner.INSTALLED else package
        frame = frame.f_back
    return f"in {package}" if package else ""


_RUNNING = ("chaosagent.event_loop.", "chaosagent.execution.execute")
"""What runs the target's code; whatever else of chaosagent opens something does so for itself."""
