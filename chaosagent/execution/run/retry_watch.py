"""Notes when a client sends the same request again inside one crossing: its own retry, which hides a fault.

Clients of HTTP raise no event that says so, so methods of two libraries are wrapped, once in a process: `send` of the
clients of httpx (also OpenAI and Anthropic), and what `http.client` sends and receives (also requests, urllib3, boto3).
A wrapped method looks up one context variable, and outside of crossings does nothing more.

A retry is an equal request (method, address, body) after an attempt that failed: by an exception, or with a status on
which clients retry. Polling, a list of different requests, and a call that an operator repeats are none.

It cannot see retries of other libraries (aiohttp, gRPC), those in other threads or processes, and connections that
`http.client` could not open. Of a gateway behind the client it sees what LiteLLM says in its header.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.client
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from chaosagent.execution.run.actor import INSIDE
from chaosagent.execution.run.recorder import Recorder
from chaosagent.trace.redact import Redactor
from chaosagent.trace.upstream_retry import UpstreamRetry

RETRIES_MAX = 16
"""So many different retries of one run are noted."""

_STATUSES = frozenset({408, 409, 425, 429})
"""Clients retry on these, and on all from 500 up."""

_GATEWAY_RETRIES = "x-litellm-attempted-retries"
_WATCH: ContextVar[_RetryWatch | None] = ContextVar("chaosagent_retry_watch", default=None)
_wrapped: set[str] = set()


@contextlib.contextmanager
def watch_retries(recorder: Recorder) -> Iterator[None]:
    """Give a recorder such retries of the worlds that act in a `with` block."""
    _wrap_clients()
    watch = _RetryWatch(recorder.redactor)
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)
        recorder.retries = tuple(watch.found.values())


class _Sent(NamedTuple):
    """One request; `call` stands for one call of the world, which an operator may make several times."""

    call: int
    method: str
    host: str
    path: str
    body: bytes


class _RetryWatch:
    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._calls: dict[int, object] = {}  # kept alive, so that no other gets the same number
        self._failed: dict[_Sent, tuple[str, int]] = {}
        self.found: dict[_Sent, UpstreamRetry] = {}

    def sent(self, method: str, host: str, path: str, body: bytes) -> _Sent:
        """Return what identifies a request of the crossing that is under way."""
        place = INSIDE.get()
        self._calls[id(place)] = place
        return _Sent(id(place), method, host, path, hashlib.blake2b(body).digest())

    @contextlib.contextmanager
    def attempt(self, sent: _Sent) -> Iterator[None]:
        """Take it as a failed attempt if the `with` block raises."""
        try:
            yield
        except Exception as error:
            self._ended(sent, type(error).__name__)
            raise

    def answered(self, sent: _Sent, status: int, headers: Mapping[str, str]) -> None:
        """Take the answer to an attempt."""
        told = headers.get(_GATEWAY_RETRIES) or ""
        gateway_retries = int(told) if told.isdecimal() and told.isascii() else 0
        self._ended(sent, f"status {status}" if status >= 500 or status in _STATUSES else "", gateway_retries)

    def _ended(self, sent: _Sent, failure: str, gateway_retries: int = 0) -> None:
        """Take how an attempt ended: with a failure, empty for none, after so many retries of a gateway."""
        first, attempts = self._failed.pop(sent, (failure, 0))
        attempts += 1 + gateway_retries
        if failure:
            self._failed[sent] = first, attempts
        if attempts > 1 and (sent in self.found or len(self.found) < RETRIES_MAX):
            where, what = str(self._calls[sent.call]), f"{sent.method} {sent.host}"
            what = what if self._redactor is None else self._redactor.text(what)
            self.found[sent] = UpstreamRetry(where, what, first or "a failure that a gateway met", attempts)


def _here() -> _RetryWatch | None:
    """Return the watch of the run whose world acts; `None` where no world does."""
    watch = _WATCH.get()
    return watch if watch is not None and INSIDE.get() else None


def _wrap_clients() -> None:
    """Wrap the libraries that are loaded by now, each once."""
    for name in ("httpx", "httpx2"):
        if name not in _wrapped and (module := sys.modules.get(name)) is not None and hasattr(module, "AsyncClient"):
            _wrapped.add(name)
            module.Client.send = _watched_send(module.Client.send)
            module.AsyncClient.send = _watched_send_async(module.AsyncClient.send)
    if "http.client" not in _wrapped:
        _wrapped.add("http.client")
        connection: Any = http.client.HTTPConnection
        connection.putrequest = _watched_begin(connection.putrequest)
        connection.send = _watched_body(connection.send)
        connection.getresponse = _watched_answer(connection.getresponse)


# ---------------------------------------------------------------------- httpx


def _watched_send(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    def watched(client: Any, request: Any, **options: Any) -> Any:
        watch = _here()
        if watch is None:
            return send(client, request, **options)
        sent = _of_httpx(watch, request)
        with watch.attempt(sent):
            answer = send(client, request, **options)
        watch.answered(sent, answer.status_code, answer.headers)
        return answer

    return watched


def _watched_send_async(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    async def watched(client: Any, request: Any, **options: Any) -> Any:
        watch = _here()
        if watch is None:
            return await send(client, request, **options)
        sent = _of_httpx(watch, request)
        with watch.attempt(sent):
            answer = await send(client, request, **options)
        watch.answered(sent, answer.status_code, answer.headers)
        return answer

    return watched


def _of_httpx(watch: _RetryWatch, request: Any) -> _Sent:
    url, body = request.url, b""
    with contextlib.suppress(Exception):  # a body that is streamed is not there before it is sent
        body = request.content
    return watch.sent(request.method, url.host, f"{url.port} {url.raw_path!r}", body)


# ---------------------------------------------------------------------- http.client


class _Sending:
    """What a connection of `http.client` is sending; its first piece holds the headers, which may differ."""

    def __init__(self, method: str, path: str) -> None:
        self.method, self.path, self.pieces, self.body = method, path, 0, b""


_SENDING: WeakKeyDictionary[Any, _Sending] = WeakKeyDictionary()


def _watched_begin(putrequest: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(putrequest)
    def watched(connection: Any, method: str, url: str, *arguments: Any, **options: Any) -> Any:
        if _here() is not None:
            _SENDING[connection] = _Sending(method, f"{connection.port} {url}")
        return putrequest(connection, method, url, *arguments, **options)

    return watched


def _watched_body(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    def watched(connection: Any, data: Any) -> Any:
        if _here() is not None and (sending := _SENDING.get(connection)) is not None:
            if sending.pieces and isinstance(data, bytes | bytearray):
                sending.body = hashlib.blake2b(sending.body + data).digest()
            sending.pieces += 1
        return send(connection, data)

    return watched


def _watched_answer(getresponse: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(getresponse)
    def watched(connection: Any, *arguments: Any, **options: Any) -> Any:
        watch, sending = _here(), _SENDING.pop(connection, None)
        if watch is None or sending is None:
            return getresponse(connection, *arguments, **options)
        sent = watch.sent(sending.method, connection.host, sending.path, sending.body)
        with watch.attempt(sent):
            answer = getresponse(connection, *arguments, **options)
        watch.answered(sent, answer.status, answer.headers)
        return answer

    return watched
