"""Notes which files a target's code opens for writing or makes, with folders and links, and SQLite databases on disk.

What a run writes to a file outlives the run and its process: a repeat in a new process reads it, too, and no comparison
of variables shows it. Python reports such calls to audit hooks. A hook cannot be removed, so it is installed with the
first run of a process that is watched for files, and does nothing outside of such runs.

It cannot see files that C code opens by itself (`dbm.gnu`, a database driver), that a program opens which the target
starts, or that were open before the run; but SQLite databases opened while the target is loaded are noted, too.
Files below a temporary folder that the run has made for itself are no state that is kept, and what the standard
library's `logging` and the import system write is not the target's.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Set
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from chaosagent import sqlite_file
from chaosagent.execution.crash_location import Owner, owner_of, place_in
from chaosagent.faults.written_file import WrittenFile

FILES_MAX = 16
"""So many different places of one run are noted."""

TEMPORARY = frozenset({"tempfile.mkdtemp", "tempfile.mkstemp"})
MADE = {"os.mkdir": 0, "os.symlink": 1, "os.link": 1, "os.rename": 1, "os.truncate": 0, "os.utime": 0}
"""Other events that leave something behind, and which of their arguments says where."""

_EVENTS = TEMPORARY | MADE.keys() | {"open", "sqlite3.connect"}
_DATABASES = TEMPORARY | {"sqlite3.connect"}
WRITING = os.O_WRONLY | os.O_RDWR
QUIET = frozenset({"logging", "importlib", "linecache", "tempfile"})  # which tries whether a folder can be written
DEVICES = ("/dev/", "/proc/", "/sys/")

_watches: list[_FileWatch] = []
_installed: list[bool] = []


@contextlib.contextmanager
def watch_files(*, databases_only: bool = False) -> Iterator[list[WrittenFile]]:
    """Note such files for as long as a `with` block lasts, in all threads; the list fills as they come.

    Args:
        databases_only: Note databases only: while a target is loaded, a connection is made for runs to use, and other
            files are mostly written once and for all.
    """
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_hear)
    watch = _FileWatch(_DATABASES if databases_only else _EVENTS)
    _watches.append(watch)
    try:
        yield watch.written
    finally:
        _watches.remove(watch)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """Take an event of the interpreter; an exception would end what the target does."""
    if _watches and event in _watches[-1].events:
        with contextlib.suppress(Exception):
            _watches[-1].take(event, arguments, sys._getframe(1))


class _FileWatch:
    def __init__(self, events: Set[str]) -> None:
        self.events = events
        self.written: list[WrittenFile] = []
        self._own = set[str]()  # temporary files and folders of this run

    def take(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        """Take an event of one of the kinds that are listed above."""
        if event in TEMPORARY:
            self._own.add(os.path.realpath(arguments[0]))
            return
        if event == "open":
            path, _, flags = arguments
            file = path_of(path) if flags & WRITING else ""
            file = "" if os.path.isdir(file) else file
        elif event in MADE:
            file = path_of(arguments[MADE[event]])
        else:
            file = database_in(path_of(arguments[0]))
        place = _place(frame) if file else ""
        is_new = len(self.written) < FILES_MAX and all(one.place != place for one in self.written)
        if place and is_new and self._is_kept(file):  # a place that writes many files is named once
            self.written.append(WrittenFile(shown_path(file), place))

    def _is_kept(self, file: str) -> bool:
        """Whether a file outlives the run: no device, and not below a temporary folder of the run's own."""
        real = os.path.realpath(file)
        if real.startswith(DEVICES):
            return False
        return self._own.isdisjoint({real, *map(str, Path(real).parents)})


def path_of(given: object) -> str:
    """Return a path as text; empty for a file that is open already."""
    return os.fsdecode(given) if isinstance(given, str | bytes | os.PathLike) else ""


def database_in(name: str) -> str:
    """Return the file of a database that may be written; empty for one in memory, or that is only read."""
    if not name.startswith("file:"):
        return "" if name == ":memory:" else name
    parts = urlsplit(name)
    path, mode = unquote(parts.path), parse_qs(parts.query).get("mode", [""])[0]
    return "" if mode in ("memory", "ro") or path == ":memory:" else path


def _place(frame: FrameType | None) -> str:
    """Return where the user's code writes, perhaps through packages; empty where others do by themselves."""
    while frame is not None and (owner := owner_of(frame)) is not Owner.USER:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if owner is Owner.OURS or (owner is Owner.PYTHON and module in QUIET):
            return ""
        frame = frame.f_back
    return "" if frame is None or _is_of_our_files(frame) else place_in(frame, frame.f_lineno)


def _is_of_our_files(frame: FrameType) -> bool:
    """Whether code of the user stands between chaosagent and a file of its own: what counts or traces connections."""
    caller = frame.f_back
    while caller is not None and owner_of(caller) is not Owner.OURS:
        caller = caller.f_back
    return caller is not None and caller.f_globals.get("__name__") == sqlite_file.__name__


def shown_path(file: str) -> str:
    """Return a path as people know it: below the working directory from there."""
    path, here = Path(os.path.abspath(file)), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
