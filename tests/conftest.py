"""What all tests have in common, and real servers: where one is missing, the tests say so and are skipped."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from chaosagent.api import session
from chaosagent.errors import UsageError
from chaosagent.execution.toxiproxy import Server, server
from tests.thorough import IS_THOROUGH

os.environ.pop("GITHUB_ACTIONS", None)  # there, output has commands of the runner beside what tests expect

# How fast a machine draws and runs examples says nothing of what they test.
settings.register_profile(
    "unhurried", deadline=None, max_examples=100 if IS_THOROUGH else 50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Use one process more than there are processors for slow tests, which often wait for processes of their own."""
    return (os.cpu_count() or 1) + 1 if config.option.markexpr == "slow" else None


@pytest.fixture(autouse=True, scope="module")
def one_cold_process() -> Iterator[None]:
    """Let searches and replays in tests repeat runs in one process of its own, not eight: each takes a second to start.

    Tests of these repeats have a fixture of the same name that does nothing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chaosagent.study.determinism.cold_repeats.HASH_SEEDS", 1)
        patch.setattr("chaosagent.replays.cold_runs.HASH_SEEDS", 1)
        yield


PROCESSES_FOR = session._processes_for


@pytest.fixture(autouse=True, scope="module")
def no_cold_repeats() -> Iterator[None]:
    """Let searches in tests repeat no runs in processes of their own, which takes most of the time of a small search.

    A test of these repeats uses `cold_repeats`. A module of them has a fixture of this name that does nothing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "_processes_for", lambda *_: None)
        yield


@pytest.fixture
def cold_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches of this test repeat runs in a process of its own."""
    monkeypatch.setattr(session, "_processes_for", PROCESSES_FOR)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Hold a port of loopback that nobody listens on, so that nobody comes to listen there meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def toxiproxy() -> Server:
    """Return the Toxiproxy server of this process."""
    pytest.importorskip("toxiproxy", reason="needs the extra `network`")
    try:
        return server()
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture
def redis_address() -> str:
    """Return `host:port` of an empty Redis of this process."""
    redis = pytest.importorskip("redis", reason="needs the package redis")
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not on the PATH; install Redis")
    from chaosagent.experiments.ledger.server import address

    found = address()
    host, _, port = found.rpartition(":")
    with redis.Redis(host=host, port=int(port)) as client:
        client.flushall()
    return found
