"""The lock of a study's folder: one process writes."""

from __future__ import annotations

import fcntl
import os
import platform
from pathlib import Path
from typing import IO

from chaosagent.clock import timestamp
from chaosagent.errors import StudyError, UsageError

LOCK_NAME = "study.lock"


def is_locked(folder: Path) -> bool:
    """Whether a process of this machine works on the study in a folder; it tries the lock for a moment."""
    try:
        with (folder / LOCK_NAME).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


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
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        holder = lock.read(200).strip() or "another process"
        lock.close()
        raise StudyError(
            f"{folder} is in use by {holder}. Wait for it, or choose another folder with --out."
        ) from error
    try:
        lock.truncate(0)
        os.write(lock.fileno(), f"process {os.getpid()} on {platform.node()} since {timestamp()}".encode())
    except OSError as error:
        lock.close()
        raise UsageError(f"{folder}: cannot store a study there: {error.strerror}. Choose another --out.") from error
    return lock
