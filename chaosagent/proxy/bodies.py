"""The bodies of requests, read under limits before an application sees them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TIMED_OUT, TOO_LARGE = 408, 413
DISCARDED_MAX = 1_000_000_000
"""Bytes of a body above the limit that are read and thrown away, at most: most clients read no answer before they have
sent everything, and would only see a broken connection."""

IN_FLIGHT = 16
"""How many bodies of the largest size are held at the same time."""

CALLERS_MAX = 1_000
"""Connections and requests that are served at the same time, at most; further ones are answered with 503."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """What bodies may take of the memory, and for how long.

    Attributes:
        bytes_max: Of one body, of a request or of an upstream's answer.
        seconds_max: Real seconds within which a body must have come.
        callers_max: Connections and requests that are served at the same time.
    """

    bytes_max: int = 4_000_000
    seconds_max: float = 60.0
    callers_max: int = CALLERS_MAX


class Room:
    """Bytes that bodies share: each waits, in the order of coming, until there is room for it.

    Args:
        size: In bytes.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    @contextlib.asynccontextmanager
    async def taken(self, size: int) -> AsyncIterator[None]:
        """Hold some bytes, at most all that there are, for as long as a `with` block lasts."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        self._let_in()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self._left += size
            else:
                self._waiting.remove((size, turn))
            self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._left:
            size, turn = self._waiting.pop(0)
            self._left -= size
            turn.set_result(None)


class LimitedBodies:
    """An application that gets each body whole, and none that is above the limits.

    Args:
        application: What answers.
        limits: Of bodies. One that is too large is answered with 413, one that comes too slowly with 408.
    """

    def __init__(self, application: ASGIApp, limits: BodyLimits) -> None:
        self._application, self._limits = application, limits
        self._room = Room(IN_FLIGHT * limits.bytes_max)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        size = _size_of(scope)
        if size == 0:
            await self._application(scope, receive, send)
            return
        limit = self._limits.bytes_max
        if size is not None and size > limit:
            await self._refuse(receive, send)
            return
        async with self._room.taken(limit if size is None else size):
            body: bytes | None
            try:
                async with asyncio.timeout(self._limits.seconds_max):
                    body = await read_body(_parts(receive), limit)
            except TimeoutError:
                seconds = self._limits.seconds_max
                await send_error(send, TIMED_OUT, f"the body did not come within {seconds:g} s. Send it again.")
                return
            except _CallerGoneError:
                return
            except BodyTooLargeError:
                body = None
            if body is not None:
                await self._application(scope, _replayed(body, receive), send)
                return
        await self._refuse(receive, send)

    async def _refuse(self, receive: Receive, send: Send) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.seconds_max):
                await _discard(receive)
        limit = self._limits.bytes_max
        await send_error(
            send,
            TOO_LARGE,
            f"the body has more than {limit:,} bytes, the limit. Send less, or start the proxy with a higher "
            "--body-megabytes-max. Nothing has crossed, and the session continues.",
        )


class BodyTooLargeError(Exception):
    """A body is larger than it may be; no more of it was read."""


async def read_body(parts: AsyncIterator[bytes], bytes_max: float) -> bytes:
    """Return a body that comes in parts.

    Args:
        parts: Of the body.
        bytes_max: Of the body; infinity for no limit.

    Raises:
        BodyTooLargeError: It is larger.
    """
    read, size = list[bytes](), 0
    async for part in parts:
        size += len(part)
        if size > bytes_max:
            raise BodyTooLargeError
        read.append(part)
    return b"".join(read)


async def send_error(send: Send, status: int, message: str) -> None:
    """Send an error of the proxy itself, as JSON."""
    body = json.dumps({"error": {"message": f"chaosagent proxy: {message}"}}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


class _CallerGoneError(Exception):
    """The caller has gone away before its body had come."""


def _size_of(scope: Scope) -> int | None:
    """Return how many bytes a body is said to have; `None` when that is not said."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    return int(headers.get(b"content-length", b"0"))  # the server has checked that it is a number


async def _discard(receive: Receive) -> None:
    size = 0
    with contextlib.suppress(_CallerGoneError):
        async for part in _parts(receive):
            size += len(part)
            if size > DISCARDED_MAX:
                return


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _CallerGoneError
        more = message.get("more_body", False)
        yield message.get("body", b"")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives an application a body that was read, and then whatever comes after it."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay
