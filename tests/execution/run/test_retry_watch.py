"""What a client sends again by itself inside a crossing is noted; polling and different requests are not."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.targets.target import Run, target
from chaosagent.trace.upstream_retry import UpstreamRetry
from chaosagent.vocabulary import Outcome, SystemConfig, Task

Deed = Callable[[str], object]
CHAT = {
    "id": "1", "object": "chat.completion", "created": 0, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
}  # fmt: skip


class Flaky(HTTPServer):
    """Answers the statuses that a test lists, and then 200."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    """Answers GET and POST alike."""

    server: Flaky

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.dumps(CHAT).encode()
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Retry-After": "0"}
        for name, value in {**headers, **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # as the library calls it

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def flaky() -> Iterator[Flaky]:
    server = Flaky()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def played(deed: Deed, server: Flaky, statuses: list[int], schedule: str = "") -> Execution:
    """Run a target whose door calls something on a server that answers so."""
    server.statuses = statuses

    @target(name="pays", tasks=[Task("t")])
    async def pays(_task: Task, run: Run) -> Outcome:
        def pay() -> str:
            deed(server.url)
            return "paid"

        with contextlib.suppress(Exception):
            await run.service("bank", {"pay": pay})("pay")
        await run.clock.sleep(10_000)  # so that late requests come within the run
        return Outcome("done", success=True)

    wanted = parse(schedule, "test") if schedule else EMPTY
    return execute(Experiment(pays, pays.task("t"), SystemConfig("default"), 0), wanted)


def by_openai(url: str, retries: int = 2) -> None:
    client = import_module("openai").OpenAI(base_url=url, api_key="k", max_retries=retries)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "pay?"}])


def by_requests(url: str, retries: int = 2) -> None:
    requests, retry = import_module("requests"), import_module("urllib3.util")
    with requests.Session() as session:
        policy = retry.Retry(retries, status_forcelist=[503], allowed_methods=None, respect_retry_after_header=False)
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=policy))
        session.post(url, json={"order": 1}).raise_for_status()


def by_urllib(url: str, attempts: int = 3, *, one_order: bool = True) -> None:
    for attempt in range(attempts):
        try:
            urllib.request.urlopen(url, b"order=1" if one_order else f"order={attempt}".encode()).close()
        except urllib.error.HTTPError as error:
            error.close()


def without_retries(url: str) -> None:
    by_urllib(url, attempts=1)


def by_openai_without_retries(url: str) -> None:
    by_openai(url, retries=0)


def different_orders(url: str) -> None:
    by_urllib(url, one_order=False)


def with_package(name: str, *values: Any) -> Any:
    """A case that needs a package, which the fast tests do not have."""
    missing = pytest.mark.skipif(find_spec(name) is None, reason=f"needs {name}")
    return pytest.param(*values, marks=[pytest.mark.slow, missing])


@pytest.mark.parametrize("deed", [with_package("openai", by_openai), with_package("requests", by_requests), by_urllib])
def test_a_client_that_retries_twice_is_pointed_out_outside_the_digest(deed: Deed, flaky: Flaky) -> None:
    calm = played(deed, flaky, [])
    retried = played(deed, flaky, [503, 503])
    assert retried.trace.retries == (UpstreamRetry("service:bank[1]", "POST 127.0.0.1", "status 503", 3),)
    assert retried.evaluation.retries == retried.trace.retries
    assert calm.trace.retries == ()
    assert calm.trace.digest == retried.trace.digest


@pytest.mark.parametrize(
    ("deed", "statuses"),
    [
        with_package("openai", by_openai_without_retries, [503, 503]),
        (different_orders, [503, 503]),
        (by_urllib, [404, 404]),
    ],
)
def test_what_is_no_retry_is_not(deed: Deed, statuses: list[int], flaky: Flaky) -> None:
    assert played(deed, flaky, statuses).trace.retries == ()


def test_a_call_that_an_operator_repeats_is_no_retry_of_a_client(flaky: Flaky) -> None:
    twice = played(without_retries, flaky, [503, 503], "service:bank[1] service.late_duplicate")
    assert flaky.statuses == []
    assert twice.trace.retries == ()


def test_the_header_of_a_gateway_that_retries_is_read(flaky: Flaky) -> None:
    flaky.headers = {"x-litellm-attempted-retries": "2"}
    (retry,) = played(without_retries, flaky, []).trace.retries
    assert (retry.attempts, retry.failure) == (3, "a failure that a gateway met")
