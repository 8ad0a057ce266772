"""MCP servers for agents in other processes, in any language: what they ask crosses doors on its way.

from chaosagent.adapters.mcp.relay import over_http, over_stdio

@chaosagent.target(tasks=[...], clock="wall")
async def desk(task, run):
    server = StdioServerParameters(command="node", args=["shop.mjs"])
    async with over_stdio(run, server, "shop", Tools(effects={"refund": chaosagent.effect("order")})) as shop:
        return await my_process([*agent_command, "--mcp", shop.command, *shop.args])

Over stdio the agent starts `shop.command` with `shop.args` as it would have started the server; the server itself is
started by the run, once per connection, when it is first asked. Over streamable HTTP it is given a URL on loopback.
What crosses, and what a fault looks like, is as `chaosagent.adapters.mcp` says; so is what stays out: headers, and keys
in them, are passed on and kept nowhere. In an exact replay neither server is needed. Answers to calls at the same time
come in the order of asking; over HTTP, where they arrive by several connections, in the order of what they ask.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from chaosagent.adapters.doors import Tools
from chaosagent.adapters.mcp import FRAMEWORK, doors_of
from chaosagent.errors import TargetError
from chaosagent.event_loop.virtual_time import VirtualLoop
from chaosagent.proxy.server import LOOPBACK, Connections, bound_socket, serving
from chaosagent.targets.target import Run

__all__ = ["over_http", "over_stdio"]

LINE_BYTES_MAX = 16_000_000
TOKEN_BYTES = 16
PIPE = Path(__file__).with_name("pipe.py")


@asynccontextmanager
async def over_stdio(run: Run, server: Any, name: str = "mcp", tools: Tools | None = None) -> AsyncIterator[Any]:
    """Let an agent in another process reach a server through the doors of a run, for as long as a `with` block lasts.

    Args:
        run: The run of a target with `clock="wall"`.
        server: What `mcp.Client` takes, or a function that makes it: a command, for example.
        name: As schedules call the server.
        tools: What is known about its tools.

    Yields:
        `mcp.StdioServerParameters`: the command that the agent is to start.

    Raises:
        MissingExtraError: The SDK is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: The server is none or cannot be reached; something is said of a tool that it does not have; or the
            time of the run is virtual.
    """
    doors = _checked(run, server, name, tools)
    from mcp.client.stdio import StdioServerParameters

    unreachable = list[TargetError]()
    failure: Exception | None = None
    async with listening(doors, server, unreachable.append) as words:
        try:
            yield StdioServerParameters(command=words[0], args=words[1:])
        except Exception as error:  # what the agent made of a server that is not there says less than that
            failure = error
    if unreachable:
        raise unreachable[0] from failure
    if failure is not None:
        raise failure
    doors.check()


@asynccontextmanager
async def listening(doors: Any, server: Any, unreachable: Callable[[TargetError], None]) -> AsyncIterator[list[str]]:
    """Listen to agents that start a command in the place of a server, for as long as a `with` block lasts.

    Args:
        doors: Of the server.
        server: What `mcp.Client` takes; it is connected to once per agent.
        unreachable: Is told why the server cannot be reached.

    Yields:
        The command.
    """
    from chaosagent.adapters.mcp.lines import relay_lines

    word, tasks = secrets.token_hex(TOKEN_BYTES), set[asyncio.Task[Any]]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            if hmac.compare_digest((await reader.readline()).strip(), word.encode()):
                why = await relay_lines(doors, server, reader, writer)
                if why is not None:
                    unreachable(why)
        except (OSError, ValueError):  # the agent is gone, or a line is too long to be one
            pass
        finally:
            tasks.discard(task)
            writer.close()

    here = await asyncio.start_server(connected, LOOPBACK, 0, limit=LINE_BYTES_MAX)
    port = here.sockets[0].getsockname()[1]
    try:
        yield [sys.executable, "-I", "-S", str(PIPE), LOOPBACK, str(port), word]
    finally:
        here.close()
        await _ended(tasks)


@asynccontextmanager
async def over_http(
    run: Run, url: str, name: str = "mcp", tools: Tools | None = None, *, port: int = 0
) -> AsyncIterator[str]:
    """Let agents reach a server over streamable HTTP through the doors of a run, for as long as a `with` block lasts.

    Args:
        run: The run of a target with `clock="wall"`.
        url: Of the server itself.
        name: As schedules call the server.
        tools: What is known about its tools.
        port: Where to listen on loopback; any free one for 0.

    Yields:
        The URL to give to the agent. It holds a token that is drawn anew each time; without it nobody is answered.

    Raises:
        MissingExtraError: The SDK is not installed.
        UsageError: It is of a version that nothing was tried with; or the port is taken.
        TargetError: Something is said of a tool that the server does not have; or the time of the run is virtual.
    """
    doors = _checked(run, url, name, tools)
    from chaosagent.adapters.mcp.http import HttpRelay

    bound = bound_socket(port)
    path = f"/{secrets.token_hex(TOKEN_BYTES)}/mcp"
    address = f"http://{LOOPBACK}:{bound.getsockname()[1]}{path}"
    relay = HttpRelay(doors, url)
    try:
        async with serving(relay.application(path), Connections(), bound):
            yield address
    finally:
        bound.close()
        await relay.close()
    doors.check()


def _checked(run: Run, server: Any, name: str, tools: Tools | None) -> Any:
    FRAMEWORK.check()
    if isinstance(asyncio.get_running_loop(), VirtualLoop):
        raise TargetError("an agent in another process needs real time. Say so: @chaosagent.target(clock='wall').")
    return doors_of(run, server, name, Tools() if tools is None else tools)


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have cleaned up: a server that was started is stopped by then."""
    for task in list(tasks):
        task.cancel()
    if tasks:
        with suppress(asyncio.CancelledError):
            await asyncio.wait(list(tasks))
