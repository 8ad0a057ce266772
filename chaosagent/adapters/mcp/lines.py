"""JSON-RPC in lines, as MCP has it over stdio, taken to a server through doors."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from mcp.shared._context_streams import create_context_streams
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from chaosagent.adapters.mcp.client import Relay, Upstream, connection_to
from chaosagent.errors import TargetError


async def relay_lines(
    doors: Any, server: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> TargetError | None:
    """Relay until the agent hangs up.

    Args:
        doors: Of the server, or what stands in their place.
        server: See `connection_to`; it is connected to anew.
        reader: What the agent says.
        writer: What it is told.

    Returns:
        Why the server could not be reached, if so.
    """
    heard, read = create_context_streams[Any](0)
    write, said = create_context_streams[Any](0)

    async def hear() -> None:
        async with heard:
            while line := await reader.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:  # no message at all; the SDK's own servers pass over it, too
                    continue
                await heard.send(SessionMessage(message))

    async def say() -> None:
        async with said:
            async for message in said:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(f"{text}\n".encode())
                await writer.drain()
                if isinstance(message.message, JSONRPCError):
                    doors.told(message.message.error.message)

    upstream = Upstream(doors.name, lambda: connection_to(server))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        await Relay(doors, upstream, JSONRPCDispatcher(read, write)).run()
        tasks.cancel_scope.cancel()
    return upstream.unreachable
