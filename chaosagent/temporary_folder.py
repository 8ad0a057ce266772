"""A temporary folder that is removed however the process ends that works in it."""

from __future__ import annotations

import contextlib
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
    [ -e "$1" ] || exit 0
    [ "$2" = "" ] || for file in $(find /proc/[0-9]*/fd -lname "$1/*"); do
      file=${{file#/proc/}}
      kill -9 "${{file%%/*}}"
    done
    rm -rf -- "$1"
    sleep 1
  done
) </dev/null >/dev/null 2>&1 &
"""


@contextlib.contextmanager
def temporary_folder(within: Path | None = None, *, of_servers: bool = False) -> Iterator[Path]:
    """Make a folder that only this user can read; it is removed at the end, or when this process has died.

    Args:
        within: Where it is made; the system's folder for temporary files by default.
        of_servers: When this process has died, those that have open files in the folder are killed, where there is a
            /proc.

    Raises:
        OSError: It cannot be made.
    """
    folder = Path(within or tempfile.gettempdir(), f"{PREFIX}{os.getpid()}-{secrets.token_hex(TOKEN_BYTES)}").resolve()
    with _removed_at_end(
        folder, of_servers=of_servers
    ):  # before it is made, so that a death at any moment leaves nothing
        folder.mkdir(mode=0o700)
        yield folder


@contextlib.contextmanager
def _removed_at_end(folder: Path, *, of_servers: bool) -> Iterator[None]:
    of = os.getpid()
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "sh", str(folder), "servers" if of_servers else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert guard.stdin is not None
    try:
        guard.wait()
        yield
    finally:
        if os.getpid() == of:  # and not a fork of this process
            shutil.rmtree(folder, ignore_errors=True)
            guard.stdin.close()
