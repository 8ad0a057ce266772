"""Operators on real connections: to a Redis server, which tells what has reached it, and to an HTTP service."""

from __future__ import annotations

import asyncio
import functools
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chaosagent.execution.child_server import start_server
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.toxiproxy import Server
from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.operator import OPERATORS, Operator, lattice
from chaosagent.faults.schedule import EMPTY, Schedule, parse, schedule
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.step import Step
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Boundary, Effect, Landing, Outcome, SystemConfig, Task

pytestmark = [pytest.mark.slow, pytest.mark.network]

ANSWER_BYTES = 4_000
GIVES_UP_SECONDS = 2.5
FAR_SECONDS = 60.0
"""For what takes milliseconds, on a machine that may stand still meanwhile."""
ADDED = Effect("counter.add", {"by": 1})
HOOK = Hook("network:counter", "", 2, 2)
NAMES = [name for name in OPERATORS if Boundary.NETWORK in OPERATORS.get(name).boundaries]


def _counting(address: str, patience: float = GIVES_UP_SECONDS) -> Target:
    """Return a target that adds one three times, whatever comes back, and does not try again.

    Args:
        address: Of the server.
        patience: Seconds that it waits for the second answer, which is the one that is disturbed.
    """
    redis = pytest.importorskip("redis.asyncio")
    backoff, retry = pytest.importorskip("redis.backoff"), pytest.importorskip("redis.asyncio.retry")
    errors = pytest.importorskip("redis.exceptions")
    host, _, port = address.rpartition(":")

    def client(to: str, at: int) -> Any:
        never = retry.Retry(backoff.NoBackoff(), 0)
        return redis.Redis(
            host=to, port=at, socket_timeout=FAR_SECONDS, socket_connect_timeout=FAR_SECONDS, retry=never
        )

    class Counter:
        """A connection to a counter."""

        def __init__(self, to: str, at: int) -> None:
            self._client, self._calls = client(to, at), 0

        async def __aenter__(self) -> Counter:
            await self._client.ping()
            return self

        async def __aexit__(self, *_: object) -> None:
            await self._client.aclose()

        async def add(self) -> int:
            self._calls += 1
            script = "redis.call('INCR', 'counter') return string.rep('x', tonumber(ARGV[1]))"
            try:
                async with asyncio.timeout(patience if self._calls == 2 else FAR_SECONDS):
                    return len(await self._client.eval(script, 0, ANSWER_BYTES))
            except TimeoutError as error:
                raise errors.TimeoutError("no answer came in time") from error

    async def committed() -> list[Effect]:
        async with client(host, int(port)) as direct:
            return [ADDED] * int(await direct.get("counter") or 0)

    @target(clock="wall")
    async def counting(_: Task, run: Run) -> Outcome:
        async with client(host, int(port)) as direct:
            await direct.delete("counter")
        door = run.network(
            "counter", address, Counter, committed=committed, errors=[errors.ConnectionError, errors.TimeoutError]
        )
        for _number in range(3):
            try:
                await door("add")
            except (errors.ConnectionError, errors.TimeoutError):
                continue
        return Outcome("done", success=True)

    return counting


class Seen(NamedTuple):
    """What was seen of the three calls of one run."""

    trace: Trace
    seconds: float

    @property
    def steps(self) -> tuple[Step, ...]:
        """The calls."""
        return self.trace.steps

    @property
    def landed(self) -> list[Landing]:
        """What became of the injections."""
        return [step.landed.landing for step in self.steps if step.landed is not None]


def _seen(system: Target, delta: Schedule) -> Seen:
    begun = time.monotonic()
    trace = execute(Experiment(system, system.task("default"), SystemConfig(), seed=1), delta).trace
    return Seen(trace, time.monotonic() - begun)


def _committed(seen: Seen) -> list[int]:
    return [len(step.effects) for step in seen.steps]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("toxiproxy")
def test_an_operator_lands_at_its_call_and_leaves_the_others_alone(name: str, redis_address: str) -> None:
    system = _counting(redis_address)
    nominal = _seen(system, EMPTY).trace

    for operator in lattice(OPERATORS.get(name)):
        delta = schedule([inject(HOOK, operator)])
        seen = _seen(system, delta)

        assert seen.landed == [Landing.LANDED], operator
        first, second, third = seen.steps
        assert (first.response, first.effects) == (nominal.steps[0].response, nominal.steps[0].effects)
        assert second.landed is not None
        assert second.landed.description == operator.describe()
        # A connection that was cut is made anew by the client; the call itself goes through.
        assert (third.failure, third.effects) == (None, (ADDED,)), operator


class Expected(NamedTuple):
    """What a toxic does to the second call.

    Attributes:
        injection: Without its hook.
        failure: Class of what the client raises, if it does.
        committed: What the server holds of the call.
        seconds: How long the run takes at least.
    """

    injection: str
    failure: str | None
    committed: int
    seconds: float = 0.0


EXPECTED = [
    Expected("latency(seconds=0.5)", None, 1, 0.5),
    Expected("latency(seconds=0.5, stream=upstream)", None, 1, 0.5),
    Expected("latency(seconds=30)", "TimeoutError", 1, GIVES_UP_SECONDS),
    Expected("latency(seconds=30, stream=upstream)", "TimeoutError", 1, GIVES_UP_SECONDS),
    Expected("jitter(seconds=0.1)", None, 1),
    Expected("bandwidth(rate=10)", None, 1, 0.3),
    Expected("bandwidth(rate=1)", "TimeoutError", 1, GIVES_UP_SECONDS),
    Expected("slow_close", None, 1),
    Expected("timeout(seconds=0.5)", "ConnectionError", 1, 0.5),
    Expected("timeout(seconds=0.5, stream=upstream)", "ConnectionError", 0, 0.5),
    Expected("timeout(seconds=30)", "TimeoutError", 1, GIVES_UP_SECONDS),
    Expected("reset_peer", "ConnectionError", 1),
    Expected("reset_peer(stream=upstream)", "ConnectionError", 0),
    Expected("reset_peer(seconds=0.5)", "ConnectionError", 1, 0.5),
    Expected("slicer(size=400, seconds=0.01)", None, 1, 0.1),
    Expected("limit_data(size=64)", "ConnectionError", 1),
    Expected("limit_data(size=64, stream=upstream)", "ConnectionError", 0),
    Expected("limit_data(size=100000)", None, 1),
    Expected("down", "ConnectionError", 0),
]


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda expected: expected.injection)
@pytest.mark.usefixtures("toxiproxy")
def test_a_toxic_does_what_it_says(expected: Expected, redis_address: str) -> None:
    system = _counting(redis_address, GIVES_UP_SECONDS if expected.failure == "TimeoutError" else FAR_SECONDS)
    delta = parse(f"network:counter[2] {expected.injection}")

    first, second = _seen(system, delta), _seen(system, delta)

    failure = first.steps[1].failure
    assert (None if failure is None else failure.kind) == expected.failure
    assert [step.failure for step in first.steps[::2]] == [None, None]
    assert _committed(first) == [1, expected.committed, 1]
    assert first.seconds >= expected.seconds
    assert first.trace.digest == second.trace.digest


@pytest.mark.usefixtures("toxiproxy")
def test_a_slow_close_is_seen_by_who_waits_for_the_end(tmp_path: Path) -> None:
    (tmp_path / "order").write_text("A-1")

    with _shop(tmp_path) as address:
        for injection, seconds in (("", 0.0), ("network:shop[1] slow_close(seconds=1.5)", 1.5)):
            begun = time.monotonic()
            trace = _ordered(address, parse(injection) if injection else EMPTY, _to_the_end)
            assert trace.outcome.message == "A-1"
            assert time.monotonic() - begun >= seconds


@pytest.mark.parametrize(
    ("injection", "told"),
    [
        ("", "A-1"),
        ("network:shop[1] reset_peer", "ConnectionResetError"),
        ("network:shop[1] limit_data(size=0)", "RemoteDisconnected"),
        ("network:shop[1] down", "ConnectionRefusedError"),
        ("network:shop[1] timeout(seconds=5)", "RemoteDisconnected"),
        ("network:shop[1] slicer(size=1, seconds=0.00001)", "A-1"),
    ],
)
@pytest.mark.usefixtures("toxiproxy")
def test_a_client_that_connects_at_each_call_meets_the_toxic_while_it_connects(
    injection: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "order").write_text("A-1")

    with _shop(tmp_path) as address:
        trace = _ordered(address, parse(injection) if injection else EMPTY)
        again = _ordered(address, parse(injection) if injection else EMPTY)

    assert trace.outcome.message == told
    assert again.digest == trace.digest
    port = address.rpartition(":")[2]
    failure = trace.steps[0].failure
    assert failure is None or not any(
        part.isdigit() and len(part) > 3 and part != port for part in str(failure).split()
    )


class _shop:  # noqa: N801  # used as a `with` block
    """A real HTTP service that hands out the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> str:
        listening = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(self._folder)]
        self._service, port = start_server(lambda port: [*listening, str(port)], "http.server")
        return f"127.0.0.1:{port}"

    def __exit__(self, *_: object) -> None:
        self._service.end()


Reader = Callable[[str, int, str], str]


def _by_length(host: str, port: int, name: str) -> str:
    """Read as much as the service has announced."""
    with urllib.request.urlopen(f"http://{host}:{port}/{name}", timeout=FAR_SECONDS) as answer:
        text: str = answer.read().decode()
        return text


def _to_the_end(host: str, port: int, name: str) -> str:
    """Read until the service closes the connection."""
    with socket.create_connection((host, port), timeout=FAR_SECONDS) as line, line.makefile("rb") as answer:
        line.sendall(f"GET /{name} HTTP/1.0\r\n\r\n".encode())
        return answer.read().decode().rpartition("\n")[2]


def _ordered(address: str, delta: Schedule, read: Reader = _by_length) -> Trace:
    def connect(host: str, port: int) -> Any:
        return {"read": functools.partial(read, host, port)}

    @target(clock="wall")
    def ordering(_: Task, run: Run) -> Outcome:
        try:
            door = run.network("shop", address, connect, read_only=True)
            return Outcome(door("read", name="order"), success=True)
        except urllib.error.URLError as error:
            return Outcome(type(error.reason).__name__, success=False)
        except OSError as error:
            return Outcome(type(error).__name__, success=False)

    return execute(Experiment(ordering, ordering.task("default"), SystemConfig(), seed=1), delta).trace


@pytest.mark.usefixtures("toxiproxy")
def test_links_of_their_own_keep_calls_that_are_made_at_once_apart(redis_address: str) -> None:
    redis = pytest.importorskip("redis.asyncio")

    @target(clock="wall")
    async def both(_: Task, run: Run) -> Outcome:
        asked = asyncio.Event()

        @asynccontextmanager
        async def connect(host: str, port: int) -> AsyncIterator[dict[str, Callable[..., Any]]]:
            async with redis.Redis(host=host, port=port, socket_timeout=FAR_SECONDS) as client:

                async def ping() -> bool:
                    asked.set()
                    return bool(await client.ping())

                yield {"ping": ping}

        slow, quick = (run.network(name, redis_address, connect) for name in ("slow", "quick"))
        waiting = asyncio.create_task(slow("ping"))
        await asked.wait()
        answered = await quick("ping")
        return Outcome("", success=answered is True and not waiting.done())

    seen = _seen(both, parse("network:slow[1] latency(seconds=60)"))

    assert seen.landed == [Landing.LANDED]
    assert seen.trace.outcome.success


def test_nothing_is_left_at_the_server_when_a_run_has_ended(toxiproxy: Server, redis_address: str) -> None:
    system = _counting(redis_address)
    for name in NAMES:
        operator: Operator = OPERATORS.get(name)()
        _seen(system, schedule([inject(HOOK, operator)]))

    assert toxiproxy.proxies() == []
