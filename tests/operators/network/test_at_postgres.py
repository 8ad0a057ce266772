"""A lost commit at a real PostgreSQL server: the connection is reset once the server has committed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaosagent.clock import monotonic
from chaosagent.execution.child_server import start_server
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Effect, Ending, Outcome, SystemConfig, Task

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.usefixtures("toxiproxy")]
psycopg: Any = pytest.importorskip("psycopg", reason="the client of PostgreSQL is the package psycopg")

USER = "chaos"
FAR_SECONDS = 60.0
"""For what takes milliseconds, on a machine that may stand still meanwhile."""
LOST = "network:bank[1] reset_peer(stream=downstream)"
NEVER_ASKED = "network:bank[1] reset_peer(stream=upstream)"


def _program(name: str) -> str:
    """Return a program of PostgreSQL; Debian keeps them off the PATH."""
    found = shutil.which(name)
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if found is None and not installed:
        pytest.skip(f"{name} of PostgreSQL is not on the PATH; install PostgreSQL")
    return found or str(installed[-1])


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """Serve an empty database of its own, and yield its `host:port`."""
    # Not in a folder of pytest: those are closed to other users, again whenever somebody else begins to test here.
    with tempfile.TemporaryDirectory(prefix="chaosagent-postgres-", ignore_cleanup_errors=True) as folder:
        as_user = _not_as_root(Path(folder))
        data = f"{folder}/data"
        subprocess.run(
            [*as_user, _program("initdb"), "-D", data, "-U", USER, "-A", "trust", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        options = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}", "-c", "fsync=off"]
        server, port = start_server(
            lambda port: [*as_user, _program("postgres"), "-D", data, "-p", str(port), *options], "PostgreSQL"
        )
        try:
            _wait_until_it_takes_statements(port)
            yield f"127.0.0.1:{port}"
        finally:
            server.end()


def _wait_until_it_takes_statements(port: int) -> None:
    """Wait for a server that listens already, and refuses statements until it has started up."""
    asked = [_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    until = monotonic() + FAR_SECONDS
    while subprocess.run(asked, check=False).returncode != 0:
        assert monotonic() < until, "PostgreSQL listens, and takes no statements"


def _not_as_root(folder: Path) -> list[str]:
    """Return what stands before a command, so that PostgreSQL, which refuses root, runs as somebody else."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and setpriv is not there to be somebody else")
    if not all(parent.stat().st_mode & 0o001 for parent in folder.parents):
        pytest.skip(f"PostgreSQL does not run as root, and nobody else may enter {folder.parent}")
    os.chown(folder, 65_534, 65_534)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Bank:
    """A connection to accounts."""

    def __init__(self, host: str, port: int) -> None:
        self._place = f"host={host} port={port} user={USER} dbname=postgres connect_timeout={FAR_SECONDS:.0f}"
        self._line: Any = None

    async def __aenter__(self) -> Bank:
        await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._line.close()

    async def _connect(self) -> None:
        self._line = await psycopg.AsyncConnection.connect(self._place, autocommit=True)

    async def pay(self, order: str, key: str) -> str:
        """Pay back; a statement by itself is a transaction, so what is lost after it is the word of its commit."""
        if self._line.closed:  # it broke at the call before
            await self._connect()
        await self._line.execute(
            "INSERT INTO paid (order_id, key) SELECT %s, nullif(%s, '') ON CONFLICT (key) DO NOTHING", (order, key)
        )
        return "paid"


def _paying(address: str, *, keyed: bool) -> Target:
    """Return an agent that pays, and once more if it does not hear."""
    host, _, port = address.rpartition(":")
    direct = f"host={host} port={port} user={USER} dbname=postgres"

    async def committed() -> list[Effect]:
        async with await psycopg.AsyncConnection.connect(direct) as line:
            found = await line.execute("SELECT order_id FROM paid ORDER BY id")
            return [Effect("bank.pay", {"order": order}) for (order,) in await found.fetchall()]

    @target(clock="wall")
    async def paying(_: Task, run: Run) -> Outcome:
        async with await psycopg.AsyncConnection.connect(direct) as line:
            await line.execute("DROP TABLE IF EXISTS paid")
            await line.execute("CREATE TABLE paid (id SERIAL PRIMARY KEY, order_id TEXT, key TEXT UNIQUE)")
        bank = run.network("bank", address, Bank, committed=committed, errors=[psycopg.OperationalError])
        for _number in range(2):
            try:
                return Outcome(await bank("pay", order="A-17", key="refund-A-17" if keyed else ""), success=True)
            except psycopg.OperationalError:
                continue
        return Outcome("not known", success=False)

    return paying


def _ran(system: Target, schedule: str = "") -> Trace:
    delta = parse(schedule) if schedule else EMPTY
    trace = execute(Experiment(system, system.task("default"), SystemConfig(), seed=1), delta).trace
    assert trace.ending is Ending.FINISHED, trace.ending_detail
    return trace


def _committed(trace: Trace) -> list[int]:
    return [len(step.effects) for step in trace.steps]


def test_without_a_fault_it_is_paid_once(postgres: str) -> None:
    trace = _ran(_paying(postgres, keyed=False))

    assert (trace.outcome.message, _committed(trace)) == ("paid", [1])


def test_a_commit_whose_acknowledgement_is_lost_is_made_twice(postgres: str) -> None:
    trace = _ran(_paying(postgres, keyed=False), LOST)

    assert trace.steps[0].failure is not None
    assert _committed(trace) == [1, 1]
    assert trace.outcome.message == "paid"


def test_a_key_that_the_database_knows_makes_it_once(postgres: str) -> None:
    trace = _ran(_paying(postgres, keyed=True), LOST)

    assert _committed(trace) == [1, 0]
    assert trace.outcome.message == "paid"


@pytest.mark.parametrize("schedule", [NEVER_ASKED, "network:bank[1] down"])
def test_what_never_reached_the_server_is_not_committed(postgres: str, schedule: str) -> None:
    trace = _ran(_paying(postgres, keyed=False), schedule)

    assert _committed(trace)[0] == 0
    assert sum(_committed(trace)) <= 1
