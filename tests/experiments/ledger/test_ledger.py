"""A bookkeeper in front of a real Redis: what a search finds, what replays say, and that nothing is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chaosagent.clock import monotonic
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.toxiproxy import Server
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.trace.trace import Trace
from tests.command_line import PROGRAM

pytest.importorskip("redis", reason="the bookkeeper's client is the package redis")

from chaosagent.experiments.ledger.books import Books
from chaosagent.experiments.ledger.target import bookkeeper

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.usefixtures("toxiproxy", "redis_address")]

LOST = "network:ledger[2] network.reset_peer(seconds=0.0, stream=downstream)"
STUDY = """
target: chaosagent.experiments.ledger.target:bookkeeper
budget: 1.2
operators: [network.reset_peer, network.down]
"""


def _ran(delta: str, config: str) -> Trace:
    experiment = Experiment(bookkeeper, bookkeeper.task("invoice"), bookkeeper.config(config), seed=0)
    return execute(experiment, parse(delta) if delta else EMPTY).trace


MARK = "CHAOSAGENT_TEST_OF"
"""The environment of what a test has started: other tests start servers at the same time."""


def _said(folder: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("config", ["naive", "fixed"])
@pytest.mark.parametrize(
    ("delta", "booked"),
    [("", [1]), (LOST, [1, 1]), (LOST.replace("downstream", "upstream"), [0, 1]), ("network:ledger[2] down", [0, 1])],
)
def test_what_is_booked_is_what_redis_holds(delta: str, booked: list[int], config: str) -> None:
    trace = _ran(delta, config)

    counts = [len(step.effects) for step in trace.steps if step.operation == "transfer"]
    assert counts == ([1, 0] if config == "fixed" and delta == LOST else booked)
    assert trace.outcome.message == "Invoice I-7 is paid."
    assert trace.digest == _ran(delta, config).digest


def test_a_search_finds_the_lost_acknowledgement_and_the_repaired_bookkeeper_holds(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)

    searched = _said(tmp_path, "search", "study.yaml", "--out", "out")

    assert searched.returncode == 1, searched.stderr
    assert f"certified  step 2     {LOST}" in searched.stdout
    replays = "out/replays"
    again = _said(tmp_path, "replay", replays)
    assert (again.returncode, again.stdout.split()[0]) == (1, "VIOLATED"), again.stdout
    assert "was committed 2 times; 1 is right" in again.stdout
    repaired = _said(tmp_path, "replay", "--config", "fixed", replays)
    assert (repaired.returncode, repaired.stdout.split()[0]) == (0, "HELD"), repaired.stdout
    # Nothing to be found and nothing to be connected to: an exact replay is answered by the record.
    nowhere = {"PATH": str(tmp_path), "TOXIPROXY": "no-such-program"}
    exact = _said(tmp_path, "replay", "--mode", "exact", replays, env=nowhere)
    assert exact.stdout.split()[0] == "REPRODUCED", exact.stdout + exact.stderr
    missing = _said(tmp_path, "replay", replays, env=nowhere)
    assert missing.returncode == 4
    assert "redis-server is not on the PATH" in missing.stdout


def test_several_processes_have_servers_of_their_own_and_leave_none(tmp_path: Path, toxiproxy: Server) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    started = _noting_starts(tmp_path)
    marked = {**os.environ, "PATH": f"{started.parent}{os.pathsep}{os.environ['PATH']}", MARK: str(tmp_path)}

    alone = _said(tmp_path, "search", "study.yaml", "--out", "alone", env=marked)
    of_one = len(_lines(started))
    spread = _said(
        tmp_path, "search", "study.yaml", "--out", "spread", "--executor", "process", "--workers", "2", env=marked
    )

    assert 0 < of_one < len(_lines(started))
    assert toxiproxy.companion is not None or not any(name.endswith(".ledger") for name in toxiproxy.remove_stale())
    assert _digest(alone.stdout) == _digest(spread.stdout)
    until = monotonic() + 60
    while left := _servers_of(tmp_path):  # one that was killed may not have come to ending yet
        assert monotonic() < until, left
        threading.Event().wait(0.01)


def _noting_starts(folder: Path) -> Path:
    """Make a Redis for the PATH that notes each start, and return the file of its notes, which stands beside it."""
    place = folder / "bin"
    place.mkdir()
    (place / "starts").touch()
    (place / "redis-server").write_text(
        f'#!/bin/sh\necho $$ >>"{place}/starts"\nexec "{shutil.which("redis-server")}" "$@"\n'
    )
    (place / "redis-server").chmod(0o755)
    return place / "starts"


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


def _digest(page: str) -> str:
    return next(line for line in page.splitlines() if "digest" in line).rpartition("digest ")[2]


def _servers_of(folder: Path) -> set[str]:
    """Return the servers that run for a test, except those that have ended and that nobody has waited for."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes().split(b"\0")
            environment = (place / "environ").read_bytes().split(b"\0")
        except OSError:  # it has just ended
            continue
        is_server = b"redis-server" in command[0] or b"-port" in command
        if is_server and f"{MARK}={folder}".encode() in environment:
            found.add(place.name)
    return found


def test_the_books_are_all_or_nothing(redis_address: str) -> None:
    host, _, port = redis_address.rpartition(":")

    async def booked() -> tuple[list[str], int, int]:
        async with Books(host, int(port)) as books:
            await books.begin({"ada": 100, "bob": 0})
            said = [await books.transfer("ada", "bob", 40, reference) for reference in ("I-1", "I-1", "", "")]
            return said, await books.balance("ada"), await books.balance("bob")

    said, ada, bob = asyncio.run(booked())

    assert said == ["booked", "known", "booked", "booked"]
    assert (ada, bob) == (-20, 120)
