"""An ASGI server on the event loop of a run: it ends with the run, and can hang up on a caller."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from chaosagent.errors import UsageError
from chaosagent.extras import require
from chaosagent.proxy.bodies import BodyLimits, LimitedBodies, send_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")
"""Host names under which a server on loopback is asked. A page that has rebound its own name keeps that name."""

FORBIDDEN = 403
EXTRA = "proxy"
END_SECONDS = 1.0
SHOWN_MAX = 100
"""Characters of a header that a message shows."""

_REMEDY = "A program that is no browser uses the address that was printed, and sends no Origin."
_RESET = struct.pack("ii", 1, 0)
"""With this setting of SO_LINGER a connection is reset where it would be closed."""

KEEP_ALIVE_SECONDS = 3_600
"""Longer than a run: a client that finds its connection closed may ask again by itself."""


def require_server() -> None:
    """Load what a proxy needs.

    Raises:
        MissingExtraError: It is not installed.
    """
    for package in ("uvicorn", "starlette.applications", "httpx"):
        require(package, extra=EXTRA, needed_by="the proxy")


def bound_socket(port: int) -> socket.socket:
    """Return a socket on loopback that listens to a port, any free one for 0.

    Raises:
        UsageError: The port is taken, or may not be used.
    """
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it each answer takes 40 ms.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        bound.close()
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"port {port} on {LOOPBACK} cannot be had: {why}. Choose another one; 0 takes a free one."
        ) from error
    return bound


class Connections:
    """The open connections of a server, by the caller's address."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], asyncio.Transport] = {}

    def opened(self, transport: asyncio.Transport) -> None:
        """Remember a connection."""
        self._open[tuple(transport.get_extra_info("peername")[:2])] = transport

    def closed(self, transport: asyncio.Transport) -> None:
        """Forget a connection."""
        self._open = {caller: known for caller, known in self._open.items() if known is not transport}

    def hang_up(self, caller: tuple[str, int], *, gently: bool = False) -> None:
        """Reset the connection of a caller; gently, it is closed after what was sent."""
        transport = self._open.get(caller)
        if transport is not None and gently:
            transport.close()
        elif transport is not None:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            transport.abort()

    def hang_up_all(self) -> None:
        """Reset every connection."""
        for transport in list(self._open.values()):
            transport.abort()


@contextlib.asynccontextmanager
async def serving(
    application: ASGIApp, connections: Connections, bound: socket.socket, limits: BodyLimits | None = None
) -> AsyncIterator[None]:
    """Serve an application on the running loop for as long as a `with` block lasts.

    Requests that a page in a browser has made, or that name another host than loopback, are answered with 403.

    Args:
        application: What answers the others.
        connections: Is told of the connections.
        bound: Where to listen; it is closed in the end.
        limits: Of bodies and callers; `None` for none.

    Raises:
        MissingExtraError: uvicorn is not installed.
    """
    uvicorn = require("uvicorn", extra=EXTRA, needed_by="the proxy")
    h11_protocol = require("uvicorn.protocols.http.h11_impl", extra=EXTRA, needed_by="the proxy").H11Protocol

    class Protocol(h11_protocol):  # type: ignore[misc,valid-type]  # known when it is loaded
        def connection_made(self, transport: Any) -> None:
            connections.opened(transport)
            super().connection_made(transport)

        def connection_lost(self, error: Exception | None) -> None:
            connections.closed(self.transport)
            super().connection_lost(error)

    config = uvicorn.Config(
        _guarded(application if limits is None else LimitedBodies(application, limits)),
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # a call that is cancelled when the run ends is no error of the server
        access_log=False,
        date_header=False,
        server_header=False,
        limit_concurrency=None if limits is None else limits.callers_max,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    over = asyncio.Event()
    server = _server_class(uvicorn.Server, connections, over)(config)
    task = asyncio.ensure_future(server.serve(sockets=[bound]))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0)
        yield
    finally:
        over.set()
        connections.hang_up_all()
        await asyncio.wait([task, *server.server_state.tasks], timeout=END_SECONDS)
        bound.close()


def refusal_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return why a request is refused, a sentence; empty when it is not.

    Args:
        headers: Of the request, with names in lower case.
    """
    found = {name: value.decode("latin-1").lower() for name, value in headers}
    host = found.get(b"host", LOOPBACK)
    if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
        return f"the request is for the host {host[:SHOWN_MAX]!r}; only {' and '.join(HOSTS)} are answered. {_REMEDY}"
    if b"origin" in found:
        return f"the request comes from a page of {found[b'origin'][:SHOWN_MAX]!r} in a browser. {_REMEDY}"
    site = found.get(b"sec-fetch-site", "none")  # a browser leaves out Origin where a page loads an image or a frame
    return "" if site == "none" else f"the request comes from a page in a browser ({site[:SHOWN_MAX]}). {_REMEDY}"


def _guarded(application: ASGIApp) -> ASGIApp:
    """Return an application that pages in a browser cannot use."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        why = refusal_of(scope["headers"])
        if not why:
            await application(scope, receive, send)
            return
        await send_error(send, FORBIDDEN, why)

    return answer


def _server_class(base: Any, connections: Connections, over: asyncio.Event) -> Callable[[Any], Any]:
    """Return a server that leaves signals to whoever runs the loop, and ends at once instead of within 0.2 s."""

    class LoopServer(base):  # type: ignore[misc]  # known when it is loaded
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def main_loop(self) -> None:
            await over.wait()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for listening in self.servers:
                listening.close()
            for one in sockets or ():
                one.close()
            connections.hang_up_all()

    return LoopServer
