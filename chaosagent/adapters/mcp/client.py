"""Streams of a client whose requests cross doors on their way to a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.client._memory import InMemoryTransport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import ClientMessageMetadata

from chaosagent.adapters.mcp.doors import HANDSHAKES, ServerDoors
from chaosagent.errors import TargetError
from chaosagent.event_loop.virtual_time import VirtualLoop

Streams = tuple[Any, Any]
Connection = AbstractAsyncContextManager[Any]

LISTEN = "subscriptions/listen"
SILENT = (
    "it ended, or closed the connection, before it answered anything. If it is a command, run it by hand to see why."
)
_BETWEEN_TWO = ("notifications/progress", "notifications/cancelled")
"""What each side tells of a request by its id, which is another one on the other side: the dispatchers do it."""


def connection_to(server: Any) -> Connection:
    """Return the transport to a server, as `mcp.Client` takes one; a function makes a server first.

    Raises:
        TargetError: It is a process or on the network, and the time of the run is virtual.
    """
    connection: Connection
    if isinstance(server, str | StdioServerParameters) and isinstance(asyncio.get_running_loop(), VirtualLoop):
        raise TargetError(
            "an MCP server that is a process, or on the network, needs real time. Say so: "
            "@chaosagent.target(clock='wall')."
        )
    if isinstance(server, MCPServer | Server):
        connection = InMemoryTransport(server)
    elif isinstance(server, str):
        connection = streamable_http_client(server)
    elif isinstance(server, StdioServerParameters):
        connection = stdio_client(server)
    elif hasattr(server, "__aenter__"):  # before functions: what a generator makes can be called, too
        connection = server
    else:
        connection = connection_to(server())
    return connection


class Upstream:
    """The real server, connected to when it is first asked: a replay from a record needs none.

    Args:
        name: Of the server.
        connect: Returns the transport.

    Attributes:
        dispatcher: What asks the server; `None` before it is connected to.
        unreachable: Why it cannot be connected to, if so.
    """

    def __init__(self, name: str, connect: Callable[[], Connection]) -> None:
        self._name, self._connect = name, connect
        self._wanted, self._ready = anyio.Event(), anyio.Event()
        self._has_answered = False
        self.dispatcher: Any = None
        self.unreachable: TargetError | None = None

    async def run(self, on_request: Any, on_notify: Any) -> None:
        """Stay connected once somebody wants it, until cancelled."""
        await self._wanted.wait()
        try:
            async with self._connect() as (read, write), anyio.create_task_group() as tasks:
                dispatcher = JSONRPCDispatcher(read, write)
                await tasks.start(dispatcher.run, on_request, on_notify)
                self.dispatcher = dispatcher
                self._ready.set()
                await anyio.sleep_forever()
        except Exception as error:  # whoever asks is told
            if not self._ready.is_set():
                self.unreachable = TargetError(f"MCP server {self._name!r} cannot be reached: {_why(error)}")
                self._ready.set()

    async def ask(self, method: str, params: Mapping[str, Any], options: Any) -> dict[str, Any]:
        """Ask the server.

        Raises:
            MCPError: It answers with an error, or cannot be reached.
        """
        self._wanted.set()
        await self._ready.wait()
        if self.dispatcher is None:
            raise MCPError(types.CONNECTION_CLOSED, str(self.unreachable))
        try:
            answer: dict[str, Any] = await self.dispatcher.send_raw_request(method, params or None, options)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED and not self._has_answered:
                self.unreachable = TargetError(f"MCP server {self._name!r} cannot be reached: {SILENT}")
                raise MCPError(types.CONNECTION_CLOSED, str(self.unreachable)) from error
            self._has_answered = True
            raise
        self._has_answered = True
        return answer


class Relay:
    """Takes what a client and a server say to each other from one to the other, requests through doors.

    Args:
        doors: Of the server.
        upstream: The server.
        downstream: The dispatcher of the client's streams.
    """

    def __init__(self, doors: ServerDoors, upstream: Upstream, downstream: Any) -> None:
        self._doors, self._upstream, self._downstream = doors, upstream, downstream

    async def asked_by_client(self, context: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Answer a request of the client."""
        options = _options(context, method, params or {})
        if method == LISTEN:  # as long as the connection: no call that could be told from the next one
            if self._upstream.dispatcher is None:
                await anyio.sleep_forever()
            return await self._upstream.ask(method, params or {}, options)

        async def forward(given: dict[str, Any]) -> dict[str, Any]:
            return await self._upstream.ask(method, given, options)

        return await self._doors.request(method, params or {}, forward)

    async def told_by_client(self, _: Any, method: str, params: Mapping[str, Any] | None) -> None:
        """Pass a notification on."""
        if method not in _BETWEEN_TWO and self._upstream.dispatcher is not None:
            await self._upstream.dispatcher.notify(method, params)

    async def asked_by_server(self, _: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Pass a request of the server on, such as one for a sample of a model."""
        answer: dict[str, Any] = await self._downstream.send_raw_request(method, params)
        return answer

    async def told_by_server(self, _: Any, method: str, params: Mapping[str, Any] | None) -> None:
        """Pass a notification on."""
        if method not in _BETWEEN_TWO:
            await self._downstream.notify(method, params)

    async def run(self) -> None:
        """Relay until the client hangs up."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._upstream.run, self.asked_by_server, self.told_by_server)
            await self._downstream.run(self.asked_by_client, self.told_by_client)
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def client_streams(doors: ServerDoors, server: Any) -> AsyncIterator[Streams]:
    """Yield the streams of a client, for as long as a `with` block lasts.

    Raises:
        TargetError: The server cannot be reached, or something was said of a tool that it does not have.
    """
    one_thread_at_a_time()
    failure: Exception | None = None
    async with create_client_server_memory_streams() as (client, (read, write)):
        upstream = Upstream(doors.name, lambda: connection_to(server))
        relay = Relay(doors, upstream, JSONRPCDispatcher(read, write))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(relay.run)
            try:
                yield client
            except Exception as error:  # raised again as it is: a group of tasks would raise a group
                failure = error
            tasks.cancel_scope.cancel()
    if upstream.unreachable is not None:
        raise upstream.unreachable
    if failure is not None:
        raise failure
    doors.check()


def one_thread_at_a_time() -> None:
    """Run the plain functions of a server in the order of asking, and let virtual time wait for them."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        threads = anyio.to_thread.current_default_thread_limiter()
        threads.total_tokens = 1
        loop.wait_while(lambda: threads.borrowed_tokens > 0)


def _options(context: Any, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the server is asked: as the client asked."""
    options: dict[str, Any] = {}
    metadata = context.message_metadata
    if isinstance(metadata, ClientMessageMetadata) and metadata.headers:
        options["headers"] = metadata.headers
    if "progressToken" in (params.get("_meta") or {}):
        options["on_progress"] = context.progress
    if method in HANDSHAKES:
        options["cancel_on_abandon"] = False
    if method == LISTEN:  # what the server tells of it names this id
        options["request_id"] = context.request_id
    return options


def _why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, TargetError) else f"{type(error).__name__}: {error}"
