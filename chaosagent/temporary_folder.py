"""Temporary folders that are removed however the process ends that works in them."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "chaosagent-"
TOKEN_BYTES = 4
ROUNDS_MAX = 5
"""How often, a second apart, a folder is removed in which somebody still writes."""

# The inner shell reads from a pipe. Only our process holds the other end, which is closed when that process ends, by
# whatever signal. The outer shell ends at once: whoever kills our process with all its descendants does not find the
# inner one.
_GUARD = f"""
exec 3<&0
(
  read -r _ <&3
  for round in {" ".join(map(str, range(ROUNDS_MAX)))}; do
    [ "$2" = "" ] || for file in $(find /proc/[0-9]*/fd -lname "$1/*"; grep -lF -- "$1/" /proc/[0-9]*/cmdline); do
      file=${{file#/proc/}}
      [ "${{file%%/*}}" = "$2" ] || kill -9 "${{file%%/*}}"
    done
    left=
    for folder in "$1" "$1"-*; do [ -e "$folder" ] && left=yes; done
    [ "$left" ] || {{ [ "$2" ] && [ "$round" -lt 2 ]; }} || exit 0
    rm -rf -- "$1" "$1"-*
    sleep 1
  done
) </dev/null >/dev/null 2>&1 &
"""


@contextlib.contextmanager
def temporary_folder(within: Path | None = None, *, of_servers: bool = False) -> Iterator[Path]:
    """Make a folder that only this user can read; it is removed at the end, or when this process has died.

    Args:
        within: Where it is made; the system's folder for temporary files by default.
        of_servers: Then kill other processes, where there is a /proc, that have open files in the folder or name one on
            their command line: a server that is only starting has not opened any.

    Raises:
        OSError: It cannot be made.
    """
    process, place = os.getpid(), Path(within or tempfile.gettempdir()).resolve()
    if of_servers:
        folder = _unused_name(process, place)
        guard = _begin_guard(folder, servers_of=process)  # before there is a folder, so that no death leaves one
        folder.mkdir(mode=0o700)
    else:
        name = _guarded_name(process, place)
        guard, folder = None, Path(tempfile.mkdtemp(prefix=f"{name.name}-", dir=place))
    try:
        yield folder
    finally:
        if os.getpid() == process:  # and not a fork of this process
            shutil.rmtree(folder, ignore_errors=True)
            if guard is not None:
                os.close(guard)


@functools.cache
def _guarded_name(process: int, place: Path) -> Path:
    """Return what the names of folders begin with that are removed when a process has died; a fork has its own."""
    name = _unused_name(process, place)
    _begin_guard(name)
    return name


def _unused_name(process: int, place: Path) -> Path:
    return place / f"{PREFIX}{process}-{secrets.token_hex(TOKEN_BYTES)}"


def _begin_guard(name: Path, servers_of: int | None = None) -> int:
    """Start a process that removes a folder, and those named after it with a hyphen, when our end of a pipe is closed.

    Returns the file descriptor of that end.
    """
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "sh", str(name), "" if servers_of is None else str(servers_of)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert guard.stdin is not None
    guard.wait()
    with guard.stdin:
        return os.dup(guard.stdin.fileno())  # not inherited by what this process starts
