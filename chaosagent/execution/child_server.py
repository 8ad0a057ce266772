"""Child server processes that end with this process, however it ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from chaosagent.clock import monotonic
from chaosagent.errors import UsageError

END_SECONDS = 5.0
START_SECONDS = 10.0
ATTEMPTS_MAX = 3
LOOPBACK = "127.0.0.1"

# The shell reads from a pipe whose other end only this process holds: it is closed when this process ends, by whatever
# signal, and then the server is ended, too.
_GUARD = """
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
(read -r _ <&3; kill "$child") &
guard=$!
wait "$child"
code=$?
kill "$guard" 2>/dev/null
exit "$code"
"""


class ChildServer:
    """A process that ends with this one.

    Args:
        command: The program and its arguments; what it prints is thrown away.

    Raises:
        OSError: No shell can be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        # In a session of its own: Ctrl-C is for us, and a server that ended first would look like a fault.
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._of = os.getpid()
        atexit.register(self.end)

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._guard.poll() is None

    def end(self) -> None:
        """End it and wait until it has ended; once more does nothing."""
        atexit.unregister(self.end)
        if self._of != os.getpid() or self._guard.stdin is None or self._guard.stdin.closed:
            return
        self._guard.stdin.close()
        try:
            self._guard.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._guard.pid, signal.SIGKILL)
            self._guard.wait()


def start_server(command_for: Callable[[int], Sequence[str]], what: str) -> tuple[ChildServer, int]:
    """Start a server on a free port of loopback and wait until it listens.

    Args:
        command_for: Returns its command for a port.
        what: What it is, for messages.

    Returns:
        The process and its port.

    Raises:
        UsageError: It does not come to listen.
    """
    for _ in range(ATTEMPTS_MAX):
        with _reserved_port() as port:
            companion = ChildServer(command_for(port))
            until = monotonic() + START_SECONDS
            while companion.running and monotonic() < until:
                if can_connect(LOOPBACK, port):
                    return companion, port
                with contextlib.suppress(subprocess.TimeoutExpired):
                    companion._guard.wait(0.01)
        companion.end()
    raise UsageError(
        f"{what} does not come to listen on {LOOPBACK}: `{' '.join(command_for(free_port()))}` ends by itself, or "
        f"takes more than {START_SECONDS:g} s. Run it by hand to see why."
    )


@contextlib.contextmanager
def _reserved_port() -> Iterator[int]:
    """Reserve a port of loopback for a server that comes to listen there.

    Two processes that start servers at once could be given the same port, and then one would talk to the other's
    server. Linux gives a port that is held to nobody who asks for any, but lets a server listen there that allows its
    address to be used again, as servers do; elsewhere the port is not held.
    """
    with socket.socket() as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holding.bind((LOOPBACK, 0))
        port: int = holding.getsockname()[1]
        if sys.platform != "linux":
            holding.close()
        yield port


def free_port() -> int:
    """Return a port of loopback that nobody listens on at this moment."""
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        port: int = found.getsockname()[1]
        return port


def can_connect(host: str, port: int, seconds: float = 1.0) -> bool:
    """Whether somebody listens at an address."""
    try:
        with socket.create_connection((host, port), timeout=seconds) as line:
            # To a free port a connection may come from that very port, and then it has reached itself.
            return bool(line.getsockname() != line.getpeername())
    except OSError:
        return False
