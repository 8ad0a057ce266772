"""The lock of a study's folder: one process writes."""

from __future__ import annotations

import fcntl
import os
import platform
import re
from pathlib import Path
from typing import IO, NamedTuple

from chaosagent.clock import monotonic, pause, timestamp
from chaosagent.errors import StudyError, UsageError

LOCK_NAME = "study.lock"
PATIENCE_SECONDS = 0.5
"""A lock that is held for less long is that of somebody who only asks whether there is one."""
RETRY_SECONDS = 0.01


class Holder(NamedTuple):
    """The process that has locked a folder.

    Attributes:
        process: Its number; 0 where it has not yet written that down.
        host: On which machine.
        since: In UTC.
    """

    process: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.process} on {self.host} since {self.since}" if self.process else "another process"


def holder_of(folder: Path) -> Holder | None:
    """Return the process of this machine that works on the study in a folder; it tries the lock for a moment."""
    path = folder / LOCK_NAME
    if not path.is_file():  # to open a pipe may take for ever
        return None
    try:
        with path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _written_in(lock.read(200).decode(errors="replace"))
    except OSError:
        return None
    return None


def _written_in(text: str) -> Holder:
    found = re.match(r"process (\d{1,20}) on (.*) since (\S+)", text)
    return Holder(0, "", "") if found is None else Holder(int(found[1]), found[2], found[3])


def lock_folder(folder: Path) -> IO[str]:
    """Lock a folder for this process; the lock ends with the process, however that ends.

    Raises:
        UsageError: The folder cannot be written to.
        StudyError: Another process holds the lock.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK_NAME).open("a+", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: cannot store a study there: {error.strerror}. Choose another --out.") from error
    if not _locked(lock):
        with lock:
            lock.seek(0)
            holder = _written_in(lock.read(200))
        raise StudyError(f"{folder} is in use by {holder}. Wait for it, or choose another folder with --out.")
    try:
        lock.truncate(0)
        os.write(lock.fileno(), str(Holder(os.getpid(), platform.node(), timestamp())).encode())
    except OSError as error:
        lock.close()
        raise UsageError(f"{folder}: cannot store a study there: {error.strerror}. Choose another --out.") from error
    return lock


def _locked(lock: IO[str]) -> bool:
    """Lock a file unless another process keeps it; `chaosagent status` does not, it looks for a moment."""
    deadline = monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if monotonic() > deadline:
                return False
            pause(RETRY_SECONDS)
        else:
            return True
