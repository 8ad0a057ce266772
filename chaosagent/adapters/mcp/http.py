"""Streamable HTTP taken to a server through doors: requests cross, everything else is passed on as it is.

The version of the protocol does not matter: sessions, versions and keys stand in headers, which are passed on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import mcp_types as types
from httpx2 import EventSource
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from chaosagent.adapters.mcp.client import LISTEN
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.proxy.bodies import BodyTooLargeError, read_body
from chaosagent.proxy.parse_json import UncrossableError, parse_json
from chaosagent.proxy.upstream import CONNECT_SECONDS_MAX, cookie_behind, no_cookies
from chaosagent.proxy.withheld import shown_url
from chaosagent.proxy.world_errors import UpstreamErrors

_OF_A_CONNECTION = frozenset({
    "host", "content-length", "connection", "keep-alive", "transfer-encoding", "te", "upgrade", "accept-encoding",
    "content-encoding", "date", "server",
})  # fmt: skip
_STATUS = "httpStatus"
BAD_REQUEST = 400
SHOWN_MAX = 1_000
ANSWER_BYTES_MAX = 16_000_000
"""Bytes of a server's answer, at most, as of a line over stdio."""

_EVENTS = "text/event-stream"
_END = None


class HttpRelay:
    """Relays for any number of clients of one server.

    Args:
        doors: Of the server, or what stands in their place.
        url: Of the server.
        troubles: Is told what goes wrong at the server.
    """

    def __init__(self, doors: Any, url: str, troubles: UpstreamErrors | None = None) -> None:
        self._doors, self._url = doors, url
        self.troubles = UpstreamErrors() if troubles is None else troubles
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS_MAX)
        self._client = httpx2.AsyncClient(timeout=timeout, cookies=no_cookies())
        self._is_used = False

    def application(self, path: str) -> Starlette:
        """Return what is to be served at a path."""
        return Starlette(routes=[Route(path, self.answer, methods=["GET", "POST", "DELETE"])])

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._client.aclose()

    async def answer(self, request: Request) -> Response:
        """Answer a client."""
        body = await request.body()
        try:
            message = _parsed(body) if request.method == "POST" else None
        except UncrossableError as error:
            told = {"code": types.PARSE_ERROR, "message": f"chaosagent: the message cannot cross: {error}."}
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, BAD_REQUEST)
        if not isinstance(message, dict) or "method" not in message or "id" not in message:
            return await self._pass_on(request, body)
        if message["method"] == LISTEN:
            return await self._pass_on(request, body)
        call = _Call(self, request, message)
        task = asyncio.ensure_future(call.cross())
        gone = asyncio.ensure_future(request.receive())  # the body was read: only the end can come
        first = asyncio.ensure_future(call.said.get())
        try:
            await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                task.cancel()
                return Response(status_code=499)
            event = first.result()
        finally:
            gone.cancel()
            first.cancel()
        response: Response
        if event is _END:
            response = await task
        else:
            response = StreamingResponse(_streamed(event, call, task), headers=call.headers, media_type=_EVENTS)
        for cookie in call.cookies:
            response.headers.append("set-cookie", cookie)
        return response

    async def _pass_on(self, request: Request, body: bytes) -> Response:
        """Pass on what is no request, such as a notification or a stream of what the server says by itself."""
        if not self._is_used:  # the server was never asked, so it is a replay, or nothing ever reached it
            return Response(status_code=202 if request.method == "POST" else 405)
        try:
            reply = await self.send(request, body)
        except httpx2.HTTPError as error:
            return Response(str(error), status_code=502)
        return StreamingResponse(_left(reply), reply.status_code, headers=_passed(reply.headers))

    async def send(self, request: Request, body: bytes) -> httpx2.Response:
        """Ask the server as the client did."""
        self._is_used = True
        made = self._client.build_request(request.method, self._url, headers=_passed(request.headers), content=body)
        try:
            return await self._client.send(made, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            why = str(error) or type(error).__name__
            place = shown_url(self._url)
            message = f"MCP server {self._doors.name!r} cannot be reached at {place}: {why}. Is it running?"
            self.troubles.unreachable.append(message)
            self.troubles.tell(message)
            raise httpx2.ConnectError(message) from error

    def refused(self, message: str) -> MCPError:
        """Return the error of an answer that cannot be taken, and report it."""
        self.troubles.tell(f"MCP server {self._doors.name!r} at {shown_url(self._url)}: {message}")
        return MCPError(types.INTERNAL_ERROR, message)

    def malformed(self, said: str, status: int) -> MCPError:
        """Return the error of an answer that is none, and tell it."""
        if status < BAD_REQUEST:
            return self.refused(f"the server's answer is no JSON-RPC message: {said[:SHOWN_MAX]!r}")
        return MCPError(types.INTERNAL_ERROR, f"HTTP {status}: {said[:SHOWN_MAX]}", {_STATUS: status})

    def told(self, words: str) -> None:
        """See `ServerDoors.told`."""
        self._doors.told(words)

    async def result(self, call: _Call) -> dict[str, Any]:
        """Take a request through its door and return the result; calls at the same time are put into an order."""
        if isinstance(asyncio.get_running_loop(), RealTimeLoop):
            await self._doors.together.enter(call.key)
        asked: dict[str, Any] = call.message.get("params") or {}
        told: dict[str, Any] = await self._doors.request(call.message["method"], asked, call.forward)
        return told


class _Call:
    """One request of a client.

    Attributes:
        message: As JSON-RPC has it.
        said: What the server says before its answer, in events; `None` at their end.
        headers: Of the answer.
        cookies: That the server gives its caller, each as `Set-Cookie` has it.
    """

    def __init__(self, relay: HttpRelay, request: Request, message: Mapping[str, Any]) -> None:
        self._relay, self._request, self.message = relay, request, message
        self.said: asyncio.Queue[str | None] = asyncio.Queue()
        self.headers: dict[str, str] = {}
        self.cookies: list[str] = []
        self._failure: str | None = None

    @property
    def key(self) -> bytes:
        """What it asks, without what differs from run to run."""
        params = self.message.get("params") or {}
        asked = {name: value for name, value in params.items() if name != "_meta"}
        return json.dumps([self.message["method"], asked], sort_keys=True).encode()

    async def cross(self) -> Response:
        """Return the response."""
        told: dict[str, Any] = {"jsonrpc": "2.0", "id": self.message["id"]}
        status = 200
        try:
            told["result"] = await self._relay.result(self)
        except MCPError as error:
            data = error.data
            if isinstance(data, Mapping) and _STATUS in data:
                status = int(data[_STATUS])
            told["error"] = error.error.model_dump(mode="json", exclude_none=True)
            self._failure = error.message
        finally:
            self.said.put_nowait(_END)
        return JSONResponse(told, status, headers=self.headers, background=BackgroundTask(self.was_sent))

    async def was_sent(self) -> None:
        """Take notice that the response is sent, or that nobody is there to read it."""
        if self._failure is not None:
            self._relay.told(self._failure)

    async def forward(self, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the server.

        Raises:
            MCPError: It answers with an error, or not at all.
        """
        asked = {**self.message, "params": params} if params or "params" in self.message else self.message
        try:
            reply = await self._relay.send(self._request, json.dumps(asked).encode())
            try:
                answer = await self._answer_in(reply)
            finally:
                await reply.aclose()
        except httpx2.ConnectError as error:
            raise MCPError(types.CONNECTION_CLOSED, f"the server cannot be reached: {error}") from error
        except httpx2.HTTPError as error:
            raise MCPError(types.CONNECTION_CLOSED, f"the connection to the server broke off: {error}") from error
        except (UncrossableError, BodyTooLargeError) as error:
            why = str(error) or f"it has more than {ANSWER_BYTES_MAX:,} bytes"
            raise self._relay.refused(f"the server's answer cannot cross: {why}.") from error
        match answer:
            case {"error": {"code": int() as code, "message": str() as message, **more}}:
                raise MCPError(code, message, more.get("data"))
            case {"result": dict() as result}:
                told: dict[str, Any] = result
                return told
            case _:
                raise self._relay.malformed(json.dumps(answer), reply.status_code)

    async def _answer_in(self, reply: httpx2.Response) -> Mapping[str, Any]:
        """Return the server's answer; what it says before is passed on at once, as it may wait for a reply to it."""
        self.headers = {key: value for key, value in reply.headers.items() if key.startswith("mcp-")}
        path = self._request.url.path
        self.cookies = [cookie_behind(cookie, path) for cookie in reply.headers.get_list("set-cookie")]
        if reply.headers.get("content-type", "").startswith(_EVENTS):
            async for event in EventSource(reply, max_event_size=ANSWER_BYTES_MAX):
                message = _parsed(event.data)
                if isinstance(message, dict) and message.get("id") == self.message["id"] and "method" not in message:
                    return message
                if event.data:
                    self.said.put_nowait(event.data)
            raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
        read = await read_body(reply.aiter_bytes(), ANSWER_BYTES_MAX)
        message = _parsed(read)
        if isinstance(message, dict) and ("result" in message or "error" in message):
            return message
        raise self._relay.malformed(read[: 4 * SHOWN_MAX].decode("utf-8", "replace"), reply.status_code)


async def _streamed(event: str | None, call: _Call, task: asyncio.Task[Response]) -> AsyncIterator[str]:
    try:
        while event is not _END:
            yield f"event: message\ndata: {event}\n\n"
            event = await call.said.get()
        answer = bytes((await task).body).decode()
        yield f"event: message\ndata: {answer}\n\n"
    finally:
        task.cancel()
        await call.was_sent()


async def _left(reply: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for data in reply.aiter_bytes():
            yield data
    finally:
        await reply.aclose()


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key.lower() not in _OF_A_CONNECTION}


def _parsed(text: str | bytes) -> Any:
    try:
        return parse_json(text)
    except UncrossableError:
        raise
    except ValueError:
        return None
