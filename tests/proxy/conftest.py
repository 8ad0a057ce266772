"""Runs in which a client asks through the proxy."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from chaosagent.execution.exact_replay import ExactReplay, serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.proxy.proxy import Backends, Proxy
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Outcome, SystemConfig, Task

Use = Callable[[dict[str, str]], Awaitable[object]]


class Asked(NamedTuple):
    """What a client saw, and the trace of it."""

    told: Any
    trace: Trace


def experiment(system: Target) -> Experiment:
    return Experiment(system, system.task("default"), SystemConfig(), seed=1)


def client(behind: Backends, use: Use, told: list[object], troubles: list[str] | None = None) -> Target:
    @target(clock="wall")
    async def asking(_: Task, run: Run) -> Outcome:
        proxy = Proxy(run, behind)
        proxy.troubles.tell = (troubles if troubles is not None else []).append
        async with proxy.open() as variables:
            told.append(await use(variables))
        return Outcome("", success=True, state=await proxy.state())

    return asking


def ask(behind: Backends, use: Use, schedule: str = "", troubles: list[str] | None = None) -> Asked:
    """Let a client ask through the proxy of a run."""
    told: list[object] = []
    delta: Schedule = parse(schedule) if schedule else EMPTY
    trace = execute(experiment(client(behind, use, told, troubles)), delta).trace
    assert told, trace.ending_detail
    return Asked(told[0], trace)


def ask_again(behind: Backends, use: Use, trace: Trace) -> tuple[Any, ExactReplay]:
    """Let a client ask what a trace answers."""
    told: list[object] = []
    served = serve(experiment(client(behind, use, told)), trace, EMPTY)
    return (told or [None])[0], served


class Upstream:
    """A server that answers every request with the same bytes and remembers what it was asked."""

    def __init__(self, body: bytes, kind: str, status: int, *, promised: int, headers: Mapping[str, str]) -> None:
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        upstream = self

        class Answering(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                asked = {name.lower(): value for name, value in self.headers.items()}
                upstream.asked.append((f"{self.command} {self.path}", asked, self.rfile.read(size)))
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body) + promised))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = _answer  # noqa: N815  # the server's names

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def upstream() -> Iterator[Callable[..., Upstream]]:
    """Start servers that end with the test."""
    with contextlib.ExitStack() as started:

        def start(
            body: bytes,
            kind: str = "application/json",
            status: int = 200,
            *,
            promised: int = 0,
            headers: Mapping[str, str] = MappingProxyType({}),
        ) -> Upstream:
            server = Upstream(body, kind, status, promised=promised, headers=headers)
            started.callback(server.stop)
            return server

        yield start
