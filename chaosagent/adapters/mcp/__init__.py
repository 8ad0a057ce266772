"""Clients of MCP servers: what they list, call, read and ask crosses doors.

from chaosagent.adapters.mcp import through_doors

@chaosagent.target(tasks=[...])
async def desk(task, run):
    server = through_doors(run, make_server, "shop", effects={"refund": chaosagent.effect("order")})
    async with mcp.Client(server) as client:
        return await my_agent(task.input, client)

`through_doors` takes what `mcp.Client` takes (a server in this process, a URL, `StdioServerParameters`, any transport)
and returns a transport. An agent with a `ClientSession` of its own enters it: `async with server as (read, write)`.

===================  =====================================================================================
crosses as           what
===================  =====================================================================================
service:<s>.<tool>   `call`: tools/call, with the tool's arguments; the answer is what the tool says, see
                     `chaosagent.adapters.mcp.answers`
tools:<server>       `list`: tools/list, all pages at once
retrieval:<server>   `read`: resources/read; passages whose `id` is the URI
prompt:<server>      `read`: each text of a prompt, after prompts/get
service:<server>     any other request by its method: initialize, server/discover, prompts/get, resources/list
===================  =====================================================================================

What fails looks as the SDK has it: a time-out is the error -32001 and a lost connection -32000, which the client raises
as `MCPError`; a tool that failed, was answered with an error status or was blocked is a result with `isError`, for the
model to read. Altered answers have their `structuredContent` and their text altered alike.

Pinned, so that a run repeats: ids of requests, progress tokens, trace ids and the client's name do not cross; mappings
have their keys in order; a result may not be cached by the client, whose cache lives by the real clock. A server in
this process runs in virtual time, its plain functions in one thread in the order of asking. Servers keep state: give a
function that makes a server, or a command, and each run has its own. A server that is a process or on the network
needs `clock="wall"`; its answers to calls at the same time come in the order of asking. It is connected to when it is
first asked, so never in an exact replay. What the server asks of the client (samples, elicitation, roots),
notifications and `subscriptions/listen` pass and do not cross.

An agent in another process, or in another language, is given an address instead: see `chaosagent.adapters.mcp.relay`.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack

from chaosagent.adapters.core.framework import Framework
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.adapters.doors import Tools
from chaosagent.errors import TargetError
from chaosagent.targets.target import Run

__all__ = ["FRAMEWORK", "through_doors"]

FRAMEWORK = Framework(__name__, "mcp", "mcp", (("mcp", "2.3", "3"),))


def through_doors(
    run: Run, server: Any, name: str = "mcp", **options: Unpack[ToolOptions]
) -> AbstractAsyncContextManager[Any]:
    """Return a transport to a server whose requests cross the doors of a run.

    Args:
        run: The run of an asynchronous target.
        server: What `mcp.Client` takes, or a function that makes it.
        name: As schedules call the server; give each one of a run its own.
        options: See `ToolOptions`; rules for effects receive what the tool says.

    Raises:
        MissingExtraError: The SDK is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: The server is none; or a tool is read-only and has effects. When the transport is left: the server
            could not be reached; or something is said of a tool that is not in its list, if the client asked for that.
        UnknownNameError: There is no such option.
    """
    FRAMEWORK.check()
    from chaosagent.adapters.mcp.client import client_streams

    return client_streams(doors_of(run, server, name, tools_from(options)), server)


def doors_of(run: Run, server: Any, name: str, tools: Tools) -> Any:
    """Return the doors of a server; see `through_doors`."""
    if server is None or (not isinstance(server, str) and not callable(server) and _is_no_server(server)):
        raise TargetError(
            f"{server!r:.80} is no MCP server. Give a server, a function that makes one, a URL, StdioServerParameters "
            "or a transport."
        )
    for tool in tools.effects:
        if tool in tools.read_only:
            raise TargetError(f"tool {tool!r} is declared read-only and has effects, too. Leave out one of them.")
    from chaosagent.adapters.mcp.doors import ServerDoors

    return ServerDoors(run, name, tools)


def _is_no_server(server: Any) -> bool:
    from mcp.client.stdio import StdioServerParameters
    from mcp.server import Server
    from mcp.server.mcpserver import MCPServer

    return not isinstance(server, MCPServer | Server | StdioServerParameters) and not hasattr(server, "__aenter__")
