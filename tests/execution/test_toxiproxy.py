"""How the Toxiproxy server is found, what is said where it is missing, and that nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.execution import toxiproxy as module
from chaosagent.execution.child_server import can_connect
from chaosagent.execution.toxiproxy import Server, found
from chaosagent.faults.crossing import Toxic

NETWORK = [pytest.mark.slow, pytest.mark.network]


@contextmanager
def _answering(version: bytes, status: int = 200) -> Iterator[int]:
    """Run something that says a version, as Toxiproxy does."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # as the base class wants it
            self.send_response(status)
            self.end_headers()
            self.wfile.write(version)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def _program(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


# ---------------------------------------------------------------- what is missing, or another thing


def test_a_missing_server_is_told_with_the_ways_to_get_it(
    silent_port: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TOXIPROXY", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "USUAL_PORT", silent_port)

    with pytest.raises(UsageError, match=r"No Toxiproxy is found.*brew install.*go install.*docker run"):
        found()


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("no-such-program", "TOXIPROXY='no-such-program' names no program that can be run, and no host:port"),
        ("192.0.2.1:8474", "192.0.2.1 is another machine; the server must run on this one"),
    ],
)
def test_a_wrong_name_is_told(named: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOXIPROXY", named)

    with pytest.raises(UsageError, match=message):
        found()


@pytest.mark.parametrize("says", ["toxiproxy-server version 2.1.4", "toxiproxy-server version 3.0.0", "redis 7"])
def test_a_program_of_another_version_is_told(says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _program(tmp_path, "toxiproxy-server", f"echo '{says}'")
    monkeypatch.delenv("TOXIPROXY", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    with pytest.raises(UsageError, match=f"is no Toxiproxy from 2.2 on and below 3; it says '{says}'"):
        found()


@pytest.mark.slow
def test_a_program_that_says_the_right_version_and_does_not_listen_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("toxiproxy")
    monkeypatch.setenv("TOXIPROXY", str(_program(tmp_path, "broken", "echo toxiproxy-server version 2.12.0")))

    with pytest.raises(UsageError, match="Toxiproxy does not come to listen"):
        found()


def test_nobody_at_the_named_address_is_told(silent_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("toxiproxy")
    monkeypatch.setenv("TOXIPROXY", f"localhost:{silent_port}")

    with pytest.raises(
        UsageError, match=f"No Toxiproxy listens at 127.0.0.1:{silent_port}. Start it, or leave out TOXIPROXY"
    ):
        found()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "status", "message"),
    [
        (b"2.1.4", 200, "calls its version '2.1.4'"),
        (b'{"version": "3.0.0"}', 200, "calls its version '3.0.0'"),
        (b"<html>", 200, "calls its version '<html>'"),
        (b"no such page", 404, "refuses: no such page"),
    ],
)
def test_something_else_that_listens_is_told(
    version: bytes, status: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("toxiproxy")
    with _answering(version, status) as port:
        monkeypatch.setenv("TOXIPROXY", f"127.0.0.1:{port}")

        with pytest.raises(UsageError, match=message):
            found()


@pytest.mark.slow
@pytest.mark.parametrize("version", [b"git", b"2.5.0", b'{"version": "2.12.0"}\n'])
def test_a_server_that_runs_already_is_taken(version: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("toxiproxy")
    monkeypatch.delenv("TOXIPROXY", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with _answering(version) as port:
        monkeypatch.setattr(module, "USUAL_PORT", port)

        taken = found()

    assert (taken.port, taken.companion) == (port, None)


# ---------------------------------------------------------------- a real server


@pytest.fixture
def running(toxiproxy: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Return a server as one that ran already, and not one of this process's own."""
    monkeypatch.setenv("TOXIPROXY", f"{toxiproxy.host}:{toxiproxy.port}")
    return toxiproxy


LEAVING = """
import os, signal
from chaosagent.execution.toxiproxy import server
server().proxy("ledger", "127.0.0.1:1")
os.kill(os.getpid(), signal.SIGKILL)
"""


class TestARealServer:
    """With a server of this process."""

    pytestmark = NETWORK

    def test_proxies_of_processes_that_were_killed_are_removed_by_the_next_one(self, running: Server) -> None:
        mine = running.proxy("mine", "127.0.0.1:1")
        left = subprocess.run([sys.executable, "-c", LEAVING], check=False)
        before = running.proxies()

        removed = found().remove_stale()

        assert left.returncode == -signal.SIGKILL
        assert len(before) == 2
        assert len(removed) == 1
        assert removed[0].endswith(".ledger")
        assert f".{os.getpid()}." not in removed[0]
        assert set(before) - set(removed) == set(running.proxies())
        mine.remove()

    def test_somebody_elses_proxies_are_left_alone(self, running: Server) -> None:
        api = running._api()
        others = [api.create("127.0.0.1:1", name) for name in ("users-own", "chaosagent.other-host.1.1.ledger")]

        assert found().remove_stale() == []

        assert {"users-own", "chaosagent.other-host.1.1.ledger"} <= set(running.proxies())
        for other in others:
            other.destroy()

    def test_a_port_that_was_taken_while_the_proxy_was_down_is_told(self, toxiproxy: Server) -> None:
        proxy = toxiproxy.proxy("taken", "127.0.0.1:1")
        down = Toxic("down", "")
        proxy.put(down, "down")
        with socket.create_server((proxy.host, proxy.port)), pytest.raises(UsageError, match="was taken"):
            proxy.take(down, "down")
        proxy.remove()

    def test_a_toxic_that_the_server_does_not_know_is_told(self, toxiproxy: Server) -> None:
        proxy = toxiproxy.proxy("unknown", "127.0.0.1:1")

        with pytest.raises(UsageError, match=r"refuses.*invalid toxic type"):
            proxy.put(Toxic("earthquake"), "earthquake")
        proxy.remove()

    def test_down_lasts_until_the_last_of_several_has_ended(self, toxiproxy: Server) -> None:
        with socket.create_server(("127.0.0.1", 0)) as upstream:
            proxy = toxiproxy.proxy("twice", f"127.0.0.1:{upstream.getsockname()[1]}")
            down = Toxic("down", "")
            seen = [can_connect(proxy.host, proxy.port)]
            for act in (proxy.put, proxy.put, proxy.take, proxy.take):
                act(down, "down")
                seen.append(can_connect(proxy.host, proxy.port))
            proxy.remove()

        assert seen == [True, False, False, False, True]

    def test_a_server_that_has_ended_is_told_and_another_one_is_started(
        self, toxiproxy: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert toxiproxy.companion is not None
        proxy = toxiproxy.proxy("ledger", "127.0.0.1:1")
        toxiproxy.end()

        with pytest.raises(UsageError, match="does not answer"):
            proxy.put(Toxic("latency", "upstream", {"latency": 1}), "late")

        monkeypatch.setenv("TOXIPROXY", toxiproxy.program)
        another = module.server()
        assert another is not toxiproxy
        assert another.companion is not None
        assert another.companion.running
