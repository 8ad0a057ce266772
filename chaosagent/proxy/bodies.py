"""The bodies of requests, read under limits before an application sees them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TIMED_OUT, TOO_LARGE, UNAVAILABLE = 408, 413, 503
IN_MEMORY_MAX = 65_536
"""While a body is coming, so many bytes of it are held in memory, and the rest in a temporary file. Slow callers, and
many of them, then take no memory from those that have sent everything."""

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
        if not _has_body(scope):
            await self._application(scope, receive, send)
            return
        parts = _parts(receive)
        with tempfile.SpooledTemporaryFile(IN_MEMORY_MAX) as spool:
            try:
                async with asyncio.timeout(self._limits.seconds_max):
                    async for part in _limited(parts, self._limits.bytes_max):
                        spool.write(part)
            except TimeoutError:
                seconds = self._limits.seconds_max
                await send_error(send, TIMED_OUT, f"the body did not come within {seconds:g} s. Send it again.")
            except _CallerGoneError:
                return
            except BodyTooLargeError:
                await self._refuse(parts, send)
            except OSError as error:
                where = tempfile.gettempdir()
                await send_error(
                    send, UNAVAILABLE, f"the body cannot be held in {where}: {error.strerror}. Free some space there."
                )
            else:
                async with self._room.taken(spool.tell()):
                    spool.seek(0)
                    await self._application(scope, _replayed(spool.read(), receive), send)

    async def _refuse(self, rest: AsyncIterator[bytes], send: Send) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.seconds_max):
                await _discard(rest)
        limit = self._limits.bytes_max
        await send_error(
            send,
            TOO_LARGE,
            f"the body has more than {limit:,} bytes, the limit. Send less, or start the proxy with a higher "
            "--body-mb. Nothing has crossed, and the session continues.",
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
    return b"".join([part async for part in _limited(parts, bytes_max)])


async def send_error(send: Send, status: int, message: str) -> None:
    """Send an error of the proxy itself, as JSON."""
    body = json.dumps({"error": {"message": f"chaosagent proxy: {message}"}}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


class _CallerGoneError(Exception):
    """The caller has gone away before its body had come."""


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


async def _limited(parts: AsyncIterator[bytes], bytes_max: float) -> AsyncIterator[bytes]:
    size = 0
    async for part in parts:
        size += len(part)
        if size > bytes_max:
            raise BodyTooLargeError
        yield part


async def _discard(parts: AsyncIterator[bytes]) -> None:
    size = 0
    with contextlib.suppress(_CallerGoneError):
        async for part in parts:
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
