"""Temporary folders that are removed however the process ends that works in them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "chaosagent-"
TOKEN_BYTES = 3
ROUNDS_MAX = 5
"""How often, a second apart, folders are removed in which somebody still writes."""

# The inner shell reads from a pipe. Only our process holds the other end, which is closed when that process ends, by
# whatever signal. The outer shell ends at once: whoever kills our process with all its descendants does not find the
# inner one.
_GUARD = f"""
exec 3<&0
(
  read -r _ <&3
  for round in {" ".join(map(str, range(ROUNDS_MAX)))}; do
    [ "$2" = "" ] || for file in $(find /proc/[0-9]*/fd -lname "$1-*"; grep -lF -- "$1-" /proc/[0-9]*/cmdline); do
      file=${{file#/proc/}}
      [ "${{file%%/*}}" = "$2" ] || kill -9 "${{file%%/*}}"
    done
    left=
    for folder in "$1"-*; do [ -e "$folder" ] && left=yes; done
    [ "$left" ] || {{ [ "$2" ] && [ "$round" -lt 2 ]; }} || exit 0
    rm -rf -- "$1"-*
    sleep 1
  done
) </dev/null >/dev/null 2>&1 &
"""
_numbers = itertools.count(1)


@contextlib.contextmanager
def temporary_folder(within: Path | None = None, *, of_servers: bool = False) -> Iterator[Path]:
    """Make a folder that only this user can read; it is removed at the end, and again when this process has ended.

    Args:
        within: Where it is made; the system's folder for temporary files by default.
        of_servers: When this process has ended, kill those, where there is a /proc, that have open files in the folder
            or name one on their command line: a server that is only starting has not opened any.

    Raises:
        OSError: It cannot be made.
    """
    process, place = os.getpid(), Path(within or tempfile.gettempdir()).resolve()
    name = _guarded_name(process, place, of_servers=of_servers)  # before there is a folder, so that no death leaves one
    folder = name.with_name(f"{name.name}-{next(_numbers)}")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        if os.getpid() == process:  # and not a fork of this process
            shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _guarded_name(process: int, place: Path, *, of_servers: bool) -> Path:
    """Return what the names of folders begin with that are removed when a process has ended; a fork has its own."""
    name = place / f"{PREFIX}{process}-{secrets.token_hex(TOKEN_BYTES)}"
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "sh", str(name), str(process) if of_servers else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert guard.stdin is not None
    guard.wait()
    with guard.stdin:
        os.dup(guard.stdin.fileno())  # open until this process ends; what it starts does not inherit it
    return name
