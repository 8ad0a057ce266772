"""Agents in other processes meet faults of MCP servers, over stdio and over streamable HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from chaosagent.adapters.doors import Tools
from chaosagent.adapters.mcp.relay import over_http, over_stdio
from chaosagent.canonical import unpack
from chaosagent.clock import monotonic
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.mcp,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra mcp"),
]
mcp: Any = pytest.importorskip("mcp")

SERVER = '''
import os, socket, sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("shop")
paid = []

@server.tool()
async def refund(order: str) -> dict[str, int]:
    """Pay a customer back."""
    paid.append(order)
    with open(sys.argv[1], "a") as book:
        book.write(f"{os.getpid()} {order}\\n")
    return {"times": len(paid)}

@server.tool()
async def work(context: Context) -> str:
    """Tell how it goes."""
    await context.report_progress(0.5, 1.0)
    return "worked"

if len(sys.argv) == 2:
    server.run("stdio")
else:
    import uvicorn

    listening = socket.socket(fileno=int(sys.argv[2]))
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run([listening])
'''


@pytest.fixture(autouse=True)
def _clients_wait_for_servers_that_start_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 300.0)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "book").touch()
    return tmp_path / "book"


@pytest.fixture
def url(book: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:  # who connects before the server is ready is kept waiting
        port, number = listening.getsockname()[1], listening.fileno()
        command = [sys.executable, str(book.with_name("server.py")), str(book), str(number)]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL, pass_fds=[number])
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


async def agent(client: Any) -> str:
    """Pay, and once more if that failed."""
    for _ in range(2):
        try:
            result = await client.call_tool("refund", {"order": "A"})
        except mcp.MCPError as error:
            said = f"{error.code} {error.message}"
        else:
            return str(result.structured_content or result.content[0].text)
    return said


TOOLS = Tools(effects={"refund": effect("order")})


def over_pipe(book: Path, mode: str = "auto", use: Any = agent) -> Target:
    command = mcp.StdioServerParameters(command=sys.executable, args=[str(book.with_name("server.py")), str(book)])

    @target(clock="wall")
    async def desk(_: Task, run: Run) -> Outcome:
        async with over_stdio(run, command, "shop", TOOLS) as shop, mcp.Client(shop, mode=mode) as client:
            return Outcome(await use(client), success=True)

    return desk


def over_network(url: str, mode: str = "auto", use: Any = agent) -> Target:
    @target(clock="wall")
    async def desk(_: Task, run: Run) -> Outcome:
        async with over_http(run, url, "shop", TOOLS) as shop, mcp.Client(shop, mode=mode) as client:
            return Outcome(await use(client), success=True)

    return desk


def experiment_of(system: Target) -> Experiment:
    """Return an experiment whose runs may take as long as a slow machine needs for them."""
    return Experiment(system, system.task("default"), SystemConfig(), 1, limits=RunLimits(wall_seconds_max=600.0))


def ran(system: Target, schedule: str = "") -> Execution:
    """Run a target, and serve it once more from what was recorded."""
    experiment = experiment_of(system)
    execution = execute(experiment, parse(schedule))
    served = serve(experiment, execution.trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest
    return execution


def runs(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def paid(book: Path) -> list[str]:
    return [line.split()[1] for line in book.read_text().splitlines()]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_server_over_stdio_is_reached_and_its_answer_is_lost(book: Path, mode: str) -> None:
    trace = ran(over_pipe(book, mode)).trace

    assert trace.outcome.message == "{'times': 1}"
    assert [step.interface for step in trace.steps] == ["service:shop", "service:shop.refund", "tools:shop"]
    assert paid(book) == ["A"]
    book.write_text("")

    trace = ran(over_pipe(book, mode), "service:shop.refund[1] lost_response").trace

    assert trace.outcome.message == "{'times': 2}"
    assert paid(book) == ["A", "A"]
    assert len(trace.effects) == 2


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_server_over_http_is_reached_and_its_answer_is_lost(book: Path, url: str, mode: str) -> None:
    trace = ran(over_network(url, mode)).trace

    assert trace.outcome.message == "{'times': 1}"
    assert [step.interface for step in trace.steps] == ["service:shop", "service:shop.refund", "tools:shop"]

    trace = ran(over_network(url, mode), "service:shop.refund[1] lost_response").trace

    assert trace.outcome.message == "{'times': 3}"
    assert paid(book) == ["A", "A", "A"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_progress_passes_both_ways(book: Path, url: str, mode: str) -> None:
    told: list[float] = []

    async def use(client: Any) -> str:
        async def progress(done: float, *_: Any) -> None:
            told.append(done)

        return str((await client.call_tool("work", {}, progress_callback=progress)).content[0].text)

    for system in (over_pipe(book, mode, use), over_network(url, mode, use)):
        told.clear()
        assert execute(experiment_of(system), parse("")).trace.outcome.message == "worked"
        assert told == [0.5]


def test_calls_at_the_same_time_make_the_same_trace_in_every_run(book: Path, url: str) -> None:
    async def use(client: Any) -> str:
        await client.list_tools()
        await asyncio.gather(*(client.call_tool("refund", {"order": order}) for order in "CADB"))
        return "done"

    for system in (over_pipe(book, use=use), over_network(url, use=use)):
        traces = [ran(system).trace for _ in range(3)]
        orders = [[str(unpack(step.request)) for step in trace.steps] for trace in traces]
        assert orders[0] == orders[1] == orders[2]
        assert len(orders[0]) == 6


def test_an_agent_that_hangs_up_is_not_waited_for(book: Path, url: str) -> None:
    async def hurried(client: Any) -> str:
        try:
            await client.call_tool("refund", {"order": "A"}, read_timeout_seconds=1)
        except mcp.MCPError as error:
            return str(error.code)
        return "paid"

    for system in (over_pipe(book, use=hurried), over_network(url, use=hurried)):
        begun = monotonic()
        trace = execute(experiment_of(system), parse("service:shop.refund[1] service.delay(seconds=500)")).trace
        assert trace.outcome.message == "-32001"
        assert monotonic() - begun < 300


def test_an_error_status_is_a_result_for_the_model(book: Path) -> None:
    trace = ran(over_pipe(book), "service:shop.refund[*] service.error_status(status=503)").trace

    assert trace.outcome.message == "Error executing tool refund: 503 Service Unavailable"
    assert not paid(book)


def test_every_run_has_a_server_of_its_own_and_none_is_left(book: Path) -> None:
    for _ in range(2):
        ran(over_pipe(book))

    pids = {int(line.split()[0]) for line in book.read_text().splitlines()}
    assert len(pids) == 2
    until = monotonic() + 60
    while left := [pid for pid in pids if runs(pid)]:
        assert monotonic() < until, left
        threading.Event().wait(0.01)


def test_an_agent_of_any_language_needs_nothing_but_the_command(book: Path) -> None:
    """The agent is a process that speaks JSON in lines, without the SDK."""
    asks: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "sh", "version": "1"},
        }},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": {
            "name": "refund", "arguments": {"order": "B"},
        }},
    ]  # fmt: skip

    async def speaks(shop: Any) -> str:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(shop.command, *shop.args, stdin=pipe, stdout=pipe)
        assert process.stdin is not None
        assert process.stdout is not None
        said = []
        for ask in asks:
            process.stdin.write(json.dumps(ask).encode() + b"\n")
            if "id" in ask:
                said.append(json.loads(await process.stdout.readline()))
        process.stdin.close()
        await process.wait()
        return json.dumps([[one["id"], "result" in one] for one in said])

    command = mcp.StdioServerParameters(command=sys.executable, args=[str(book.with_name("server.py")), str(book)])

    @target(clock="wall")
    async def desk(_: Task, run: Run) -> Outcome:
        async with over_stdio(run, command, "shop", TOOLS) as shop:
            return Outcome(await speaks(shop), success=True)

    assert ran(desk).trace.outcome.message == '[[1, true], ["two", true]]'
    assert paid(book) == ["B"]


# ---------------------------------------------------------------------- bad input


def test_a_command_that_is_not_there_makes_the_run_worthless() -> None:
    @target(clock="wall")
    async def desk(_: Task, run: Run) -> Outcome:
        command = mcp.StdioServerParameters(command="no-such-server")
        async with over_stdio(run, command, "shop") as shop, mcp.Client(shop) as client:
            return Outcome(await agent(client), success=True)

    with pytest.raises(TargetError, match="MCP server 'shop' cannot be reached: FileNotFoundError"):
        ran(desk)


def test_a_url_where_nothing_is_listens_to_nobody() -> None:
    trace = ran(over_network("http://127.0.0.1:9/mcp")).trace

    assert "the server cannot be reached" in trace.ending_detail or "cannot be reached" in str(trace.steps[0].failure)


def test_virtual_time_is_refused_with_the_remedy() -> None:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        async with over_http(run, "http://127.0.0.1:9/mcp"):
            return Outcome("", success=True)

    with pytest.raises(TargetError, match=r"needs real time. Say so: @chaosagent.target\(clock='wall'\)"):
        ran(desk)


def test_whoever_does_not_know_the_word_is_not_let_in(book: Path) -> None:
    async def knocks(shop: Any) -> AsyncIterator[bytes]:
        reader, writer = await asyncio.open_connection(shop.args[-3], int(shop.args[-2]))
        writer.write(b"guessed\n{}\n")
        yield await reader.read()
        writer.close()

    @target(clock="wall")
    async def desk(_: Task, run: Run) -> Outcome:
        command = mcp.StdioServerParameters(command=sys.executable, args=[str(book.with_name("server.py")), str(book)])
        async with over_stdio(run, command, "shop") as shop:
            return Outcome(str([said async for said in knocks(shop)]), success=True)

    assert ran(desk).trace.outcome.message == "[b'']"
