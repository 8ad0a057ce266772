"""Temporary files of a run: their names follow from its seed, in every process, also where several run side by side."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.seeds import derive

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
