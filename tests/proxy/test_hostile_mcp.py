"""Callers of MCP servers behind the proxy that mean harm, as `test_hostile_callers` has it for models and services."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.execution.execute import execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.proxy.proxy import Backends, Proxy
from chaosagent.proxy.server import bound_socket
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Ending, Outcome, Task
from tests.proxy.conftest import Upstream, ask, experiment
from tests.proxy.hostile import CANARY, DEEP, LOGIN, REFUSED, STRICT_LOGIN

pytestmark = [pytest.mark.mcp, pytest.mark.proxy, pytest.mark.slow]
mcp: Any = pytest.importorskip("mcp")
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from chaosagent.adapters.mcp.relay import over_http  # noqa: E402  # needs the SDK
from chaosagent.adapters.mcp.server import McpServer  # noqa: E402

SECONDS_MAX = 50.0
"""How long a client waits: longer than any machine stands still, shorter than a run may take."""

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
RESULT = {"content": [{"type": "text", "text": "paid"}]}
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"content": [{"type": "text", "text": "paid"}]}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    if asked["method"] == "tools/call" and asked["params"]["name"] == "deep":
        for _ in range(int(asked["params"]["arguments"]["levels"])):
            result = {"content": [], "structuredContent": {"a": result}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server over stdio that answers whatever it is asked."""


def _client() -> Any:
    return httpx.AsyncClient(trust_env=False, timeout=SECONDS_MAX, headers=HEADERS)


def _call(arguments: str = "{}", name: str = "refund", number: int = 1) -> bytes:
    params = f'{{"name": "{name}", "arguments": {arguments}}}'
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'.encode()


def _answer(result: str = json.dumps(RESULT)) -> bytes:
    return f'{{"jsonrpc": "2.0", "id": 1, "result": {result}}}'.encode()


def _behind(url: str) -> Backends:
    return Backends(mcp={"shop": McpServer(url)})


@pytest.mark.parametrize("login", [LOGIN, STRICT_LOGIN])
def test_each_caller_has_cookies_of_its_own_and_no_record_has_any(
    upstream: Callable[..., Upstream], login: dict[str, str]
) -> None:
    server = upstream(_answer(), headers=login)

    async def two_callers(variables: dict[str, str]) -> None:
        for calls in (2, 1):
            async with _client() as client:
                for _ in range(calls):
                    await client.post(variables["SHOP_MCP_URL"], content=_call())

    trace = ask(_behind(server.url), two_callers).trace

    assert [headers.get("cookie") for _, headers, _ in server.asked] == [None, "session=of-a", None]
    assert not [step for step in trace.steps if b"of-a" in step.request + step.response]


def test_a_key_in_the_address_of_a_server_is_in_no_message_and_no_record() -> None:
    told: list[str] = []
    with bound_socket(0) as silent:  # nobody listens there, and as long as it is held nobody can
        url = f"http://user:{CANARY}@127.0.0.1:{silent.getsockname()[1]}/mcp?key={CANARY}"

        @target(clock="wall")
        async def asking(_: Task, run: Run) -> Outcome:
            proxy = Proxy(run, _behind(url))
            proxy.troubles.tell = told.append
            async with proxy.open() as variables, _client() as client:
                told.append((await client.post(variables["SHOP_MCP_URL"], content=_call())).text)
            return Outcome("", success=True)

        trace = execute(experiment(asking), EMPTY).trace

    assert all("cannot be reached at http://127.0.0.1" in line for line in told)
    assert len(told) == 2
    assert CANARY not in repr(told) + repr([step.canonical() for step in trace.steps])


@pytest.mark.parametrize("body", DEEP)
def test_a_message_that_nests_too_deeply_is_a_bad_request_and_nothing_else_ends(
    upstream: Callable[..., Upstream], body: str
) -> None:
    server = upstream(_answer())

    async def posting(variables: dict[str, str]) -> list[Any]:
        async with _client() as client:
            return [
                await client.post(variables["SHOP_MCP_URL"], content=content)
                for content in (
                    DEEP[body],
                    _call("[" * 200_000 + "]" * 200_000),
                    _call('{"a": ' * 70 + "1" + "}" * 70),
                    _call(),
                )
            ]

    asked = ask(_behind(server.url), posting)

    assert [answer.status_code for answer in asked.told] == [400, 400, 400, 200]
    assert all("nests deeper than" in answer.json()["error"]["message"] for answer in asked.told[:3])
    assert asked.told[3].json()["result"]["content"] == RESULT["content"]
    assert asked.trace.ending is Ending.FINISHED


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("levels", [80, 700, 200_000])
def test_an_answer_that_nests_too_deeply_is_an_error_for_its_caller_alone(
    upstream: Callable[..., Upstream], levels: int, kind: str
) -> None:
    told: list[str] = []
    deep = _answer('{"structuredContent": ' + "[" * levels + "]" * levels + "}")
    server = upstream(deep if kind == "application/json" else b"data: " + deep + b"\n\n", kind)

    async def posting(variables: dict[str, str]) -> list[Any]:
        async with _client() as client:
            return [await client.post(variables["SHOP_MCP_URL"], content=_call()) for _ in range(2)]

    asked = ask(_behind(server.url), posting, troubles=told)

    assert ["the server's answer cannot cross" in answer.text for answer in asked.told] == [True] * 2
    assert all("nests deeper" in line for line in told)
    assert len(told) == 2
    assert asked.trace.ending is Ending.FINISHED


def test_over_stdio_a_deep_message_or_answer_is_an_error_and_the_next_call_is_answered(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    behind = _behind(f"{sys.executable} {tmp_path / 'server.py'}")
    lines = [
        _call('{"a": ' * 80 + "1" + "}" * 80, number=2),
        _call("[" * 200_000 + "]" * 200_000, number=3),
        b"[" * 200_000,
        _call('{"levels": 40}', "deep", 4),
        _call(number=5),
    ]

    async def speaking(variables: dict[str, str]) -> list[dict[str, Any]]:
        pipe = asyncio.subprocess.PIPE
        program, *words = shlex.split(variables["SHOP_MCP_COMMAND"])
        process = await asyncio.create_subprocess_exec(program, *words, stdin=pipe, stdout=pipe, limit=2**20)
        assert process.stdin is not None
        assert process.stdout is not None
        begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        read = [json.loads(await process.stdout.readline())]
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        for line in lines:
            process.stdin.write(line + b"\n")
        while read[-1].get("id") != 5:
            read.append(json.loads(await process.stdout.readline()))
        process.kill()
        await process.wait()
        return read

    asked = ask(behind, speaking)

    answers = {answer["id"]: answer for answer in asked.told}
    assert "nests deeper than" in answers[2]["error"]["message"]
    assert "nests deeper than" in answers[4]["error"]["message"]
    assert answers[5]["result"]["content"] == RESULT["content"]
    assert asked.trace.ending is Ending.FINISHED


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("alone", [False, True])
def test_a_request_for_another_host_or_of_a_page_is_refused_before_it_crosses(
    upstream: Callable[..., Upstream], case: str, alone: bool
) -> None:
    server = upstream(_answer())
    headers, why = REFUSED[case]

    async def asking(variables: dict[str, str]) -> list[Any]:
        url = httpx.URL(variables["SHOP_MCP_URL"])
        sent = {name: value.format(port=url.port) for name, value in headers.items()}
        async with _client() as client:
            refused = await client.post(url, content=_call(), headers=sent)
            return [refused, await client.post(url.copy_with(path="/mcp"), content=_call())]

    told = _alone(server.url, asking) if alone else ask(_behind(server.url), asking).told

    assert [answer.status_code for answer in told] == [403, 404]
    assert why in told[0].json()["error"]["message"]
    assert server.asked == []


def test_a_server_that_is_relayed_alone_refuses_deep_messages_too(upstream: Callable[..., Upstream]) -> None:
    server = upstream(_answer())

    async def asking(variables: dict[str, str]) -> list[int]:
        async with _client() as client:
            return [
                (await client.post(variables["SHOP_MCP_URL"], content=content)).status_code
                for content in (b"[" * 200_000, _call())
            ]

    assert _alone(server.url, asking) == [400, 200]


def _alone(url: str, use: Callable[[dict[str, str]], Any]) -> list[Any]:
    """Let a client ask a server that is relayed without a proxy."""
    told: list[Any] = []

    @target(clock="wall")
    async def asking(_: Task, run: Run) -> Outcome:
        async with over_http(run, url, "shop") as address:
            told.extend(await use({"SHOP_MCP_URL": address}))
        return Outcome("", success=True)

    execute(experiment(asking), EMPTY)
    return told
