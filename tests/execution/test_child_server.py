"""Server processes that end with the one that has started them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.execution.child_server import LOOPBACK, ChildServer, can_connect, free_port, start_server

LISTENING = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)"
STARTING = """
import signal, sys, time
from chaosagent.execution.child_server import start_server
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
companion, port = start_server(lambda port: [sys.executable, "-c", sys.argv[1], str(port)], "it")
print(port, flush=True)
time.sleep(600)
"""


def _breaks_off(line: socket.socket) -> bool:
    """Whether the server at the far end ends, now or soon; its port may be somebody else's by then."""
    line.settimeout(60.0)
    try:
        return line.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


@pytest.mark.slow
def test_a_companion_listens_and_ends_when_it_is_told() -> None:
    companion, port = start_server(lambda port: [sys.executable, "-c", LISTENING, str(port)], "it")

    assert companion.running
    with socket.create_connection((LOOPBACK, port)) as line:
        companion.end()
        companion.end()
        assert not companion.running
        assert _breaks_off(line)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_companion_ends_with_the_process_that_has_started_it(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTING, LISTENING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        port = int(parent.stdout.readline())
        with socket.create_connection((LOOPBACK, port)) as line:
            os.kill(parent.pid, number)
            parent.wait(60)
            assert _breaks_off(line)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a server have a port that is held")
def test_the_port_of_a_server_that_is_still_starting_is_given_to_nobody_else() -> None:
    taken: list[bool] = []

    def command_for(port: int) -> list[str]:
        with socket.socket() as other:
            taken.append(other.connect_ex((LOOPBACK, port)) == 0)
        with socket.socket() as other, contextlib.suppress(OSError):
            other.bind((LOOPBACK, port))
            taken.append(True)
        return [sys.executable, "-c", LISTENING, str(port)]

    companion, _ = start_server(command_for, "it")

    companion.end()
    assert taken == [False]


@pytest.mark.slow
def test_a_program_that_does_not_come_to_listen_is_named() -> None:
    with pytest.raises(UsageError, match=r"Redis does not come to listen on 127\.0\.0\.1: `false --port"):
        start_server(lambda port: ["false", "--port", str(port)], "Redis")


@pytest.mark.slow
def test_a_companion_that_ends_by_itself_does_not_run(tmp_path: Path) -> None:
    companion = ChildServer(["touch", str(tmp_path / "here")])
    until = time.monotonic() + 60.0
    while companion.running and time.monotonic() < until:
        threading.Event().wait(0.01)

    assert not companion.running
    assert (tmp_path / "here").exists()
    companion.end()


def test_nobody_listens_at_a_free_port() -> None:
    for _ in range(10):
        port = free_port()
        with socket.socket() as held:
            try:
                held.bind((LOOPBACK, port))
            except OSError:
                continue  # in between another process was given it, and may listen
            assert not can_connect(LOOPBACK, port)
            return
    pytest.fail("each port that was free was somebody else's at once")
