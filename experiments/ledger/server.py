"""A Redis server of this process, which ends with it."""

from __future__ import annotations

import os
import shutil

from chaosagent.errors import UsageError
from chaosagent.execution.child_server import LOOPBACK, ChildServer, start_server

PROGRAM = "redis-server"

_RUNNING: dict[int, tuple[ChildServer, int]] = {}


def address() -> str:
    """Return `host:port` of the server of this process; it is started when it is asked for first.

    Raises:
        UsageError: Redis is not installed, or does not start.
    """
    known = _RUNNING.get(os.getpid())
    if known is None or not known[0].running:
        program = shutil.which(PROGRAM)
        if program is None:
            raise UsageError(
                f"{PROGRAM} is not on the PATH. Install Redis (`apt install redis-server`, `brew install redis`)."
            )
        known = _RUNNING[os.getpid()] = start_server(lambda port: _command(program, port), "Redis")
    return f"{LOOPBACK}:{known[1]}"


def _command(program: str, port: int) -> list[str]:
    return [program, "--port", str(port), "--bind", LOOPBACK, "--save", "", "--appendonly", "no"]
