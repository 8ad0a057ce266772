"""Server processes that end with the one that has started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.execution.companion import LOOPBACK, Companion, can_connect, free_port, started

LISTENING = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)"
STARTING = """
import sys, time
from chaosagent.execution.companion import started
companion, port = started(lambda port: [sys.executable, "-c", sys.argv[1], str(port)], "it")
print(port, flush=True)
time.sleep(600)
"""


def _gone(port: int) -> bool:
    """Whether nobody listens at a port any more, or soon."""
    until = time.monotonic() + 30.0
    while can_connect(LOOPBACK, port) and time.monotonic() < until:
        threading.Event().wait(0.02)
    return not can_connect(LOOPBACK, port)


@pytest.mark.slow
def test_a_companion_listens_and_ends_when_it_is_told() -> None:
    companion, port = started(lambda port: [sys.executable, "-c", LISTENING, str(port)], "it")

    assert companion.running
    assert can_connect(LOOPBACK, port)
    companion.end()
    companion.end()
    assert not companion.running
    assert _gone(port)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_companion_ends_with_the_process_that_has_started_it(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTING, LISTENING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        port = int(parent.stdout.readline())
        assert can_connect(LOOPBACK, port)

        os.kill(parent.pid, number)
        parent.wait(10)

    assert _gone(port)


@pytest.mark.slow
def test_a_program_that_does_not_come_to_listen_is_named() -> None:
    with pytest.raises(UsageError, match=r"Redis does not come to listen on 127\.0\.0\.1: `false --port"):
        started(lambda port: ["false", "--port", str(port)], "Redis")


@pytest.mark.slow
def test_a_companion_that_ends_by_itself_does_not_run(tmp_path: Path) -> None:
    companion = Companion(["touch", str(tmp_path / "here")])
    until = time.monotonic() + 30.0
    while companion.running and time.monotonic() < until:
        threading.Event().wait(0.01)

    assert not companion.running
    assert (tmp_path / "here").exists()
    companion.end()


def test_nobody_listens_at_a_free_port() -> None:
    assert not can_connect(LOOPBACK, free_port())
