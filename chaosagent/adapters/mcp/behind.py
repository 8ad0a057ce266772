"""MCP servers behind the proxy of a run: any client starts a command, or is given a URL, in the place of the server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from chaosagent.adapters.doors import Tools
from chaosagent.adapters.mcp.doors import Forward, ServerDoors
from chaosagent.adapters.mcp.http import HttpRelay
from chaosagent.adapters.mcp.relay import listening
from chaosagent.errors import ChaosAgentError
from chaosagent.proxy.concurrency import CallOrder
from chaosagent.proxy.parse_json import UncrossableError, check_shape
from chaosagent.proxy.upstream import Joined
from chaosagent.proxy.workspace import Surroundings, Workspace
from chaosagent.proxy.world_errors import UpstreamErrors
from chaosagent.targets.target import Run

COMPLAINT_MAX = 300
ANSWER_SECONDS = 20.0
"""How long the end of a run waits at most for the answer that says so to be sent: its reader may have gone."""


def started(
    name: str, words: Sequence[str], folder: Path | None, workspace: Workspace | None
) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """Return what starts a server and connects to it, each time that it is called.

    Args:
        name: Of the server.
        words: The command.
        folder: In which it runs; the working directory when `None`.
        workspace: Gives it variables, and takes what it prints to stderr, which is printed at once without one.
    """
    own = {} if workspace is None else workspace.variables
    program, *arguments = words
    parameters = StdioServerParameters(command=program, args=arguments, env={**os.environ, **own}, cwd=folder)
    errors: Any = sys.stderr if workspace is None else workspace.stderr_of(name)
    return lambda: stdio_client(parameters, errlog=errors)


@contextlib.asynccontextmanager
async def expose_server(
    run: Run, name: str, tools: Tools, server: str | Callable[[], Any], surroundings: Surroundings
) -> AsyncIterator[Joined]:
    """Let agents reach a server for as long as a `with` block lasts; what it was asked to start is ended then.

    Args:
        run: The run, in real time.
        name: As schedules call the server.
        tools: What is known about its tools.
        server: Its URL, or what `started` returns.
        surroundings: What it shares with the other parts of the run.
    """
    doors, troubles = ServerDoors(run, name, tools), surroundings.troubles
    watched = _Watched(doors, surroundings)

    def unreachable(error: ChaosAgentError) -> None:
        troubles.unreachable.append(str(error))
        troubles.tell(str(error))

    async with contextlib.AsyncExitStack() as opened:
        opened.enter_context(_sdk_told_to(troubles, doors.name))
        relay = None
        if isinstance(server, str):
            relay = HttpRelay(watched, server, troubles)
            opened.push_async_callback(relay.close)
        command = await opened.enter_async_context(listening(watched, server, unreachable))
        yield Joined(tuple(command), None if relay is None else relay.answer, doors.check)


@contextlib.contextmanager
def _sdk_told_to(troubles: UpstreamErrors, name: str) -> Iterator[None]:
    """Tell what the SDK's client of a server complains of, such as lines that are no JSON, in place of logging it."""
    logger, told = logging.getLogger("mcp.client"), _Complaints(troubles, name)
    before = logger.propagate
    logger.addHandler(told)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(told)
        logger.propagate = before


class _Complaints(logging.Handler):
    def __init__(self, troubles: UpstreamErrors, name: str) -> None:
        super().__init__(logging.WARNING)
        self._troubles, self._name = troubles, name

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        why = f": {' '.join(str(error).split())}"[:COMPLAINT_MAX] if error is not None else ""
        self._troubles.tell(f"MCP server {self._name!r}: {record.getMessage()}{why}")


class _Watched:
    """The doors of a server, with the manners of the proxy: calls are let in in its order, and the end is told.

    Attributes:
        name: Of the server.
        together: Lets each call in as it comes: the entrance has put them into an order.
    """

    def __init__(self, doors: ServerDoors, surroundings: Surroundings) -> None:
        self._doors, self._entrance, self._over = doors, surroundings.entrance, surroundings.over
        self._workspace = surroundings.workspace
        self._last_words: str | None = None
        self.name, self.together = doors.name, CallOrder(0)

    async def request(self, method: str, params: Mapping[str, Any], forward: Forward) -> dict[str, Any]:
        """See `ServerDoors.request`; doors see a fixed path in the place of the run's folder."""
        if self._workspace is None:
            return await self._request(method, params, forward)
        hidden, restored = self._workspace.hidden, self._workspace.restored

        async def with_folder(given: dict[str, Any]) -> dict[str, Any]:
            try:
                return hidden(await forward(restored(given)))  # type: ignore[no-any-return]  # as it is forwarded
            except MCPError as error:
                raise MCPError(error.code, hidden(error.message), hidden(error.data)) from error

        return restored(await self._request(method, hidden(dict(params)), with_folder))  # type: ignore[no-any-return]

    async def _request(self, method: str, params: Mapping[str, Any], forward: Forward) -> dict[str, Any]:
        asked = {key: value for key, value in params.items() if key != "_meta"}
        try:
            check_shape(asked)
        except UncrossableError as error:
            raise MCPError(types.INVALID_PARAMS, f"chaosagent: the request cannot cross: {error}.") from error

        async def flat_answer(given: dict[str, Any]) -> dict[str, Any]:
            result = await forward(given)
            try:
                check_shape(result)
            except UncrossableError as error:
                raise MCPError(types.INTERNAL_ERROR, f"the server's answer cannot cross: {error}.") from error
            return result

        await self._entrance.enter(json.dumps([self.name, method, asked], sort_keys=True, default=repr).encode())
        try:
            return await self._doors.request(method, params, flat_answer)
        except (MCPError, asyncio.CancelledError):
            raise
        except BaseException as error:  # the end of a run is no `Exception`
            words = f"chaosagent: {error}"
            if not isinstance(error, Exception) or isinstance(error, ChaosAgentError):
                self._last_words = words
                asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._over.set)
            raise MCPError(types.INTERNAL_ERROR, words) from error

    def told(self, words: str) -> None:
        """See `ServerDoors.told`: what ended the run is told, and the session can end."""
        if words == self._last_words:
            self._over.set()
