"""`chaosagent proxy --mcp`: clients of MCP servers meet the faults of a session, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli.main import main
from chaosagent.clock import monotonic
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.replays.store import read_record
from chaosagent.targets.loading import load_target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import SystemConfig
from tests.cli.proxies import SECONDS_MAX

pytestmark = [pytest.mark.mcp, pytest.mark.proxy, pytest.mark.slow]
mcp: Any = pytest.importorskip("mcp")
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

SERVER = '''
import os, socket, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")
paid = []

@server.tool()
async def refund(order: str) -> dict[str, int]:
    """Pay a customer back."""
    paid.append(order)
    with open("book", "a") as book:
        book.write(f"{os.getpid()} {order} {os.environ.get('SHOP_KEY')}\\n")
    return {"times": len(paid)}

if len(sys.argv) == 1:
    server.run("stdio")
else:
    import uvicorn

    listening = socket.socket(fileno=int(sys.argv[1]))
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run([listening])
'''

STDIO = f"shop={sys.executable} server.py"
LOST = ("--schedule", "service:shop.refund[1] lost_response")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a folder with a server and its empty book."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "book").touch()
    return tmp_path


@pytest.fixture(autouse=True)
def _clients_wait_for_servers_that_start_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", SECONDS_MAX)


@contextlib.contextmanager
def _serving(shop: Path) -> Iterator[str]:
    """Serve the shop over HTTP, and yield its URL; who connects before the server is ready is kept waiting."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port, number = listening.getsockname()[1], listening.fileno()
        server = subprocess.Popen(
            [sys.executable, "server.py", str(number)], cwd=shop, stderr=subprocess.DEVNULL, pass_fds=[number]
        )
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def _proxy(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Start a proxy, and yield it with the variables that it tells."""
    running = subprocess.Popen(
        [sys.executable, "-m", "chaosagent", "proxy", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SHOP_KEY": "sk-secret"},
    )
    try:
        assert running.stderr is not None
        assert running.stdout is not None
        said = running.stderr.readline()
        assert "Ctrl-C" in said
        assert "export" not in said
        exports = os.read(running.stdout.fileno(), 65_536).decode()  # all were written before, in one piece
        found = (shlex.split(line)[1].partition("=") for line in exports.splitlines())
        yield running, {name: value for name, _, value in found}
    finally:
        running.kill()
        running.wait()
        for stream in (running.stdout, running.stderr):
            if stream is not None:
                stream.close()


def _ended(running: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str]:
    running.send_signal(number)
    _, told = running.communicate(timeout=SECONDS_MAX)
    return running.returncode, told


def _joined(variables: dict[str, str], way: str) -> Any:
    """Return what a client is given in the place of the server."""
    if way == "url":
        return variables["SHOP_MCP_URL"]
    program, *arguments = shlex.split(variables["SHOP_MCP_COMMAND"])
    return mcp.StdioServerParameters(command=program, args=arguments)


def _pays(server: Any, order: str = "A") -> list[str]:
    """Let a client pay, and once more if that failed; return what it met."""

    async def paying() -> list[str]:
        met: list[str] = []
        async with mcp.Client(server) as client:
            for _ in range(2):
                try:
                    result = await client.call_tool("refund", {"order": order})
                except mcp.MCPError as error:
                    met.append(f"{error.code} {error.message}")
                else:
                    return [*met, str(result.structured_content or result.content[0].text)]
        return met

    return asyncio.run(paying())


def _pays_once(server: Any, order: str) -> str:
    """Let a client pay at a server that may be gone when it has answered; return the error that it was told."""
    met: list[str] = []

    async def paying() -> None:
        async with mcp.Client(server) as client:
            try:
                await client.call_tool("refund", {"order": order})
            except mcp.MCPError as error:
                met.append(str(error))

    with contextlib.suppress(Exception):
        asyncio.run(paying())
    return met[0]


def _fails(server: Any) -> str:
    """Return why a client cannot do anything."""

    async def asking() -> str:
        try:
            async with mcp.Client(server) as client:
                await client.list_tools()
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            return str(error)
        return "nothing failed"

    return asyncio.run(asking())


def _booked(shop: Path) -> list[list[str]]:
    return [line.split() for line in (shop / "book").read_text().splitlines()]


def test_a_server_that_is_a_command_meets_a_fault_is_recorded_and_answers_again(shop: Path) -> None:
    with _proxy(shop, "--mcp", STDIO, *LOST, "--record", "session.replay") as (running, variables):
        first = _pays(_joined(variables, "stdio"))
        code, said = _ended(running)
    booked = _booked(shop)

    assert (code, first) == (0, ["-32000 Connection closed", "{'times': 2}"])
    assert "1 injections landed" in said
    assert [entry[1:] for entry in booked] == [["A", "sk-secret"]] * 2  # it has the environment that it would have had
    assert b"sk-secret" not in (shop / "session.replay").read_bytes()
    assert all(_is_dead(pid) for pid, *_ in booked)
    interfaces = [step.interface for step in read_record(shop / "session.replay").trace.steps]
    assert interfaces.count("service:shop.refund") == 2

    with _proxy(shop, "--mcp", "shop=no-such-program", "--replay", "session.replay") as (again, variables):
        second = _pays(_joined(variables, "stdio"))
        code, _ = _ended(again)

    assert (code, second, _booked(shop)) == (0, first, booked)


@pytest.mark.parametrize("way", ["url", "stdio"])
def test_a_server_that_has_a_url_is_reached_in_both_ways(shop: Path, way: str) -> None:
    with _serving(shop) as url:
        with _proxy(shop, "--mcp", f"shop={url}", *LOST, "--record", "session.replay") as (running, variables):
            first = _pays(_joined(variables, way))
            code, _ = _ended(running, signal.SIGTERM)
        assert (code, first) == (0, ["-32000 Connection closed", "{'times': 2}"])

    with _proxy(shop, "--mcp", f"shop={url}", "--replay", "session.replay") as (
        again,
        variables,
    ):  # nobody is there now
        second = _pays(_joined(variables, way))
        code, _ = _ended(again)

    assert (code, second) == (0, first)
    assert len(_booked(shop)) == 2


@pytest.mark.parametrize("way", ["url", "stdio"])
def test_a_replay_ends_at_the_first_other_request(shop: Path, way: str) -> None:
    with _serving(shop) as url, _proxy(shop, "--mcp", f"shop={url}", "--record", "s.replay") as (one, variables):
        _pays(_joined(variables, way))
        _ended(one)

    with _proxy(shop, "--mcp", f"shop={url}", "--replay", "s.replay") as (again, variables):
        told = _pays_once(_joined(variables, way), "B")
        _, said = again.communicate(timeout=SECONDS_MAX)

    assert "chaosagent: " in told
    assert again.returncode == 3
    assert "DIVERGED" in said


def test_models_and_mcp_servers_stand_in_one_record(shop: Path) -> None:
    (shop / "answers.yaml").write_text("- first\n")
    options = ("--upstream", "openai=canned:answers.yaml", "--mcp", STDIO, "--record", "session.replay")
    with _proxy(shop, *options) as (running, variables):
        with httpx.Client(trust_env=False, timeout=SECONDS_MAX) as client:
            asked = {"messages": [{"role": "user", "content": "Pay A."}]}
            assert client.post(f"{variables['OPENAI_BASE_URL']}/chat/completions", json=asked).status_code == 200
        _pays(_joined(variables, "stdio"))
        _ended(running)

    boundaries = {step.interface.partition(":")[0] for step in read_record(shop / "session.replay").trace.steps}
    assert {"model", "service"} <= boundaries


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("way", ["url", "stdio"])
def test_a_url_where_nobody_is_is_told_on_both_sides(shop: Path, reserved_port: int, way: str) -> None:
    with _proxy(shop, "--mcp", f"shop=http://127.0.0.1:{reserved_port}/mcp") as (running, variables):
        told = _fails(_joined(variables, way))
        code, said = _ended(running)

    assert code == 0
    for text in (told, said):
        assert "MCP server 'shop' cannot be reached" in text


def test_a_command_that_ends_at_once_is_told_on_both_sides(shop: Path) -> None:
    with _proxy(shop, "--mcp", "shop=echo garbage") as (running, variables):
        told = _fails(_joined(variables, "stdio"))
        code, said = _ended(running)

    assert code == 0
    for text in (told, said):
        assert "MCP server 'shop' cannot be reached: it ended, or closed the connection, before it answered" in text
    assert "MCP server 'shop': Failed to parse JSONRPC message from server: " in said
    assert "Traceback" not in said


@pytest.mark.parametrize("body", ["no JSON", "[]", '{"jsonrpc": "2.0", "id": 1, "result": 5}'])
def test_an_answer_that_is_no_message_is_told_on_both_sides(shop: Path, body: str) -> None:
    class Malformed(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Malformed) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with _proxy(shop, "--mcp", f"shop=http://127.0.0.1:{server.server_port}/mcp") as (running, variables):
            told = _fails(_joined(variables, "url"))
            code, said = _ended(running)
        server.shutdown()

    assert code == 0
    for text in (told, said):
        assert "the server's answer is no JSON-RPC message: " in text


def test_a_client_that_says_no_json_does_not_end_the_session(shop: Path) -> None:
    with _proxy(shop, "--mcp", STDIO) as (running, variables):
        command = shlex.split(variables["SHOP_MCP_COMMAND"])
        subprocess.run(
            command, input="no JSON\n{}\n", text=True, timeout=SECONDS_MAX, check=False, stdout=subprocess.DEVNULL
        )
        paid = _pays(_joined(variables, "stdio"))
        code, _ = _ended(running)

    assert (code, paid) == (0, ["{'times': 1}"])


def test_a_proxy_that_is_killed_leaves_no_server_behind(shop: Path) -> None:
    with _proxy(shop, "--mcp", STDIO) as (running, variables):

        async def paying() -> None:
            with contextlib.suppress(Exception):
                async with mcp.Client(_joined(variables, "stdio")) as client:
                    await client.call_tool("refund", {"order": "A"})
                    running.kill()

        asyncio.run(paying())
    ((pid, *_),) = _booked(shop)

    end = monotonic() + SECONDS_MAX
    while monotonic() < end and not _is_dead(pid):
        threading.Event().wait(0.01)
    assert _is_dead(pid)


def _is_dead(pid: str) -> bool:
    """Whether a process has ended, if only nobody has waited for it yet."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_bad_input_is_named(shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for options, complaint in [
            (["--mcp", STDIO, "--port", str(port)], f"port {port} on 127.0.0.1 cannot be had: Address already in use"),
            (["--mcp", "shop"], "write NAME=URL or NAME='command args'"),
            (["--mcp", "shop=no-such-program --fast"], "there is no program 'no-such-program'"),
            (["--mcp", "shop='unclosed"], "the command cannot be split: No closing quotation"),
            (["--mcp", "shop= "], "it is empty"),
            (["--mcp", "shop=https://"], "the URL names no host"),
            (["--mcp", STDIO, "--mcp", STDIO], "'shop' is given twice"),
            (["--mcp", STDIO, "--service", "shop=http://127.0.0.1:9"], "two upstreams or services are called 'shop'"),
            (["--mcp", f"my {STDIO}"], "is called 'my shop'; use letters, digits"),
        ]:
            assert main(["proxy", *options]) == 2, options
            assert re.search(re.escape(complaint), capsys.readouterr().err), options


def test_the_sdk_that_is_missing_is_named_with_its_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from chaosagent.adapters.core import framework

    framework._check.cache_clear()
    monkeypatch.setitem(sys.modules, "mcp", None)
    try:
        assert main(["proxy", "--mcp", STDIO]) == 2
    finally:
        framework._check.cache_clear()
    assert "pip install 'chaosagent[mcp]'" in capsys.readouterr().err


# ---------------------------------------------------------------------- a command that is a target

AGENT = """
import asyncio, json, os, shlex, mcp

async def main():
    program, *arguments = shlex.split(os.environ["SHOP_MCP_COMMAND"])
    order = json.loads(os.environ["CHAOSAGENT_TASK"])["input"]
    async with mcp.Client(mcp.StdioServerParameters(command=program, args=arguments), mode="legacy") as client:
        for _ in range(2):
            try:
                result = await client.call_tool("refund", {"order": order})
            except mcp.MCPError:
                continue
            print(json.dumps({"message": str(result.structured_content), "success": True}))
            return

asyncio.run(main())
"""
DESCRIPTION = f"""
command: {sys.executable} agent.py
mcp:
  shop:
    server: {sys.executable} server.py
    effects: {{refund: [order]}}
tasks: [{{id: late, input: A}}]
"""


def _run(folder: Path, schedule: str) -> Trace:
    agent = load_target("agent.yaml", folder=folder)
    experiment = Experiment(agent, agent.task("late"), SystemConfig(), 0, limits=RunLimits(wall_seconds_max=300))
    return execute(experiment, parse(schedule)).trace


def test_an_agent_that_is_a_command_pays_twice(shop: Path) -> None:
    (shop / "agent.py").write_text(AGENT)
    (shop / "agent.yaml").write_text(DESCRIPTION)

    trace = _run(shop, "service:shop.refund[1] lost_response")

    assert trace.outcome.message == "{'times': 2}"
    assert [len(step.effects) for step in trace.steps if step.operation == "call"] == [1, 1]
    assert len(_booked(shop)) == 2


def test_what_is_said_of_a_tool_that_the_server_does_not_have_is_refused(shop: Path) -> None:
    (shop / "agent.py").write_text(AGENT.replace("for _", "await client.list_tools()\n        for _"))
    (shop / "agent.yaml").write_text(DESCRIPTION.replace("refund:", "refnd:"))

    with pytest.raises(TargetError, match="Did you mean 'refund'"):
        _run(shop, "")
