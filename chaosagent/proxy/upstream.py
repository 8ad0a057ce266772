"""What stands behind the proxy: servers elsewhere, or functions in place of them."""

from __future__ import annotations

import functools
import inspect
import json
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from chaosagent.errors import UsageError
from chaosagent.extras import require
from chaosagent.proxy.bodies import BodyLimits, BodyTooLargeError, read_body
from chaosagent.proxy.dialect import Body, Dialect, MalformedAnswerError, list_of
from chaosagent.proxy.parse_json import UncrossableError, parse_json
from chaosagent.proxy.server import EXTRA
from chaosagent.proxy.sse import BrokenStreamError, read_events
from chaosagent.proxy.withheld import shown_url
from chaosagent.proxy.workspace import Surroundings
from chaosagent.proxy.world_errors import MESSAGE_MAX, UpstreamErrors, WorldErrors
from chaosagent.targets.target import Run
from chaosagent.vocabulary import StatusError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

SECONDS_MAX = 600.0
"""How long a server may be silent."""

CONNECT_SECONDS_MAX = 10.0
_HOP_BY_HOP = frozenset(
    {
        "host",
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "accept-encoding",
        "expect",
    }
)

Headers = Iterable[tuple[str, str]]


class Reply(NamedTuple):
    """What a server answered.

    Attributes:
        status: Below 400.
        headers: By lower-case name.
        body: As bytes.
        cookies: What it asks its caller to keep, each as `Set-Cookie` has it. They are secrets: they go to that caller
            and do not cross.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: tuple[str, ...] = ()


class ModelUpstream(Protocol):
    """A model behind the proxy."""

    async def ask(self, dialect: Dialect, request: Mapping[str, Any], headers: Headers) -> Body:
        """Return the response to a request of an API.

        Raises:
            StatusError: It answered with an error, or could not be understood (502).
            ConnectionError: The connection broke.
        """
        ...


@dataclass(frozen=True, slots=True)
class Joined:
    """How agents reach an MCP server through the doors of a run.

    Attributes:
        command: What a client starts in the place of the server, to speak over stdio.
        answer: Answers over streamable HTTP; `None` for a server that is a command.
        check: Refuses what was said of tools that the server turned out not to have.
    """

    command: tuple[str, ...]
    answer: Callable[[Request], Awaitable[Response]] | None
    check: Callable[[], None]


class McpUpstream(Protocol):
    """An MCP server behind the proxy."""

    def check_installed(self) -> None:
        """Refuse it where the extra `mcp` is not installed.

        Raises:
            MissingExtraError: It is not.
        """
        ...

    def check(self, name: str) -> None:
        """Refuse what is neither a URL nor a command.

        Raises:
            UsageError: It is neither.
        """
        ...

    def join(self, run: Run, name: str, surroundings: Surroundings) -> AbstractAsyncContextManager[Joined]:
        """Let agents reach the server for as long as a `with` block lasts.

        Args:
            run: The run, in real time.
            name: As schedules call the server.
            surroundings: What it shares with the other parts of the run.
        """
        ...


class Client:
    """A client of httpx that is made when it is needed: making one takes as long as a run without.

    Args:
        limits: Of the bodies of answers; `None` for none.

    It knows no proxies of the environment: what is on loopback is meant. It keeps no cookies: several callers use it.
    """

    def __init__(self, limits: BodyLimits | None = None) -> None:
        self._client: Any = None
        self._bytes_max = inf if limits is None else limits.bytes_max

    async def request(self, method: str, url: str, headers: list[tuple[str, str]], content: bytes) -> tuple[Any, bytes]:
        """Send a request and return httpx's answer, with its body.

        Raises:
            BodyTooLargeError: The answer is larger than it may be.
            httpx.HTTPError: As httpx has it.
        """
        if self._client is None:
            httpx = require("httpx", extra=EXTRA, needed_by="the proxy")
            timeout = httpx.Timeout(SECONDS_MAX, connect=CONNECT_SECONDS_MAX)
            self._client = httpx.AsyncClient(timeout=timeout, trust_env=False, verify=_trusted(), cookies=no_cookies())
        request = self._client.build_request(method, url, headers=headers, content=content)
        answer = await self._client.send(request, stream=True)
        try:
            return answer, await read_body(answer.aiter_bytes(), self._bytes_max)
        finally:
            await answer.aclose()

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.aclose()


class Server:
    """A server elsewhere.

    Args:
        name: As messages call it.
        url: Of it, without the path of an API.
        troubles: Takes what goes wrong.
        client: Of this run.

    Raises:
        UsageError: The URL is none.
    """

    def __init__(self, name: str, url: str, troubles: UpstreamErrors, client: Client) -> None:
        self._name, self._url, self._troubles, self._client = name, base_url(url, name), troubles, client
        self._shown = shown_url(self._url)

    async def send(self, method: str, path: str, headers: Headers, body: bytes) -> Reply:
        """Send a request and return the answer.

        Raises:
            StatusError: It is an error, or the server cannot be reached (502).
            ConnectionError: The connection broke off.
            TimeoutError: The server was silent for too long.
        """
        httpx = require("httpx", extra=EXTRA, needed_by="the proxy")
        kept = [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]
        try:
            answer, read = await self._client.request(method, f"{self._url}{path}", headers=kept, content=body)
        except httpx.ConnectError as error:
            message = (
                f"{self._name} cannot be reached at {self._shown}: {str(error) or type(error).__name__}. Is it running?"
            )
            self._troubles.unreachable.append(message)
            raise self._troubles.refused(message) from error
        except httpx.TimeoutException as error:
            raise TimeoutError(f"{self._name} was silent for {SECONDS_MAX:g} s") from error
        except httpx.HTTPError as error:
            message = f"{self._name} at {self._shown} broke off: {str(error) or type(error).__name__}"
            self._troubles.tell(message)
            raise ConnectionError(message) from error
        except BodyTooLargeError as error:
            raise self._troubles.refused(
                f"{self._name} at {self._shown} answered with more bytes than are allowed. Start the proxy with a "
                "higher --body-mb."
            ) from error
        if answer.status_code >= 400:
            text = read.decode(answer.encoding or "utf-8", "replace")[:MESSAGE_MAX]
            raise StatusError(answer.status_code, text, _seconds(answer.headers.get("retry-after")))
        given = {name.lower(): value for name, value in answer.headers.items()}
        return Reply(answer.status_code, given, read, tuple(answer.headers.get_list("set-cookie")))

    async def ask(self, dialect: Dialect, request: Mapping[str, Any], headers: Headers) -> Body:
        """See `ModelUpstream`."""
        content = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        reply = await self.send("POST", dialect.path, headers, content)
        try:
            if reply.headers.get("content-type", "").startswith("text/event-stream"):
                return dialect.gathered(read_events(reply.body.decode("utf-8", "replace")))
            found = parse_json(reply.body)
        except BrokenStreamError as error:
            raise self._troubles.refused(f"{self._name} at {self._shown}: {error}.") from error
        except UncrossableError as error:
            raise self._troubles.refused(
                f"{self._name} at {self._shown} answered {dialect.path} with what cannot cross: {error}."
            ) from error
        except ValueError as error:
            shown = reply.body[:80].decode("utf-8", "replace")
            raise self._troubles.refused(
                f"{self._name} at {self._shown} answered {dialect.path} with what is no JSON: {shown!r}."
            ) from error
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise self._troubles.refused(
                f"{self._name} at {self._shown}: its stream does not keep to {dialect.name}: {error!r}."
            ) from error
        try:
            if not isinstance(found, dict):
                raise MalformedAnswerError("it is no JSON object")
            dialect.answer_of(found)
        except (MalformedAnswerError, KeyError, TypeError, AttributeError) as error:
            raise self._troubles.refused(
                f"{self._name} at {self._shown} answered {dialect.path} with what is no answer of {dialect.name}: "
                f"{error}."
            ) from error
        return found


class Scripted:
    """A function in place of a model.

    Args:
        function: Takes the request, as its API has it, and returns a text or a mapping with `content` and
            `tool_calls` (mappings with `name` and `arguments`); asynchronous or not.
        errors: Takes what it raises.
    """

    def __init__(self, function: Callable[[Mapping[str, Any]], Any], errors: WorldErrors) -> None:
        self._function, self._errors = function, errors

    async def ask(self, dialect: Dialect, request: Mapping[str, Any], headers: Headers) -> Body:  # noqa: ARG002
        """See `ModelUpstream`."""
        with self._errors.noted("the function in place of the model"):
            found = self._function(request)
            answer = await found if inspect.isawaitable(found) else found
        return dialect.body_of({"content": answer} if isinstance(answer, str) else answer, "upstream")


def scripted_paths() -> dict[str, Callable[..., Any]]:
    """Return what a model answers that is a function: which models there are."""
    known = {"id": "scripted", "object": "model", "created": 0, "owned_by": "nobody"}
    return {"GET /v1/models": lambda: {"object": "list", "data": [known]}}


def canned_model(answers: list[Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Return a model that has its answers ready: one for each turn of the conversation, the last ones again and again.

    A turn is counted by what the request shows that the model has said, so that a request asked twice has one answer.
    """

    def answer(request: Mapping[str, Any]) -> Any:
        said = list_of(request.get("messages")) or list_of(request.get("input"))
        turns = sum(_is_turn(before, entry) for before, entry in zip([{}, *said], said, strict=False))
        return answers[min(turns, len(answers) - 1)]

    return answer


def answers_in(file: Path, where: str) -> list[Any]:
    """Return the answers of a YAML or JSON file.

    Raises:
        UsageError: There is no such file, or it holds no list of texts and mappings.
    """
    from chaosagent.yaml_file import read_yaml_values  # with PyYAML, which few proxies need

    try:
        found = read_yaml_values(file, "file of answers")
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if not isinstance(found, list) or not found or not all(isinstance(answer, str | dict) for answer in found):
        raise UsageError(
            f"{where}: {file} must hold a list of answers: texts, or mappings with `content` and `tool_calls`."
        )
    return found


def base_url(url: str, name: str) -> str:
    """Return a URL without what the paths of an API begin with.

    Raises:
        UsageError: It is no URL of a server.
    """
    if not url.startswith(("http://", "https://")) or not url.partition("://")[2].strip("/"):
        raise UsageError(
            f"{name}={url!r}: an upstream is a URL such as https://api.openai.com, scripted:module:function, "
            "scripted:file.py:function, or canned:answers.yaml."
        )
    if "?" in url or "#" in url:
        raise UsageError(
            f"{name}={shown_url(url)!r}: an upstream is a URL without a query; the agent's own requests bring theirs."
        )
    return url.rstrip("/").removesuffix("/v1")


def no_cookies() -> CookieJar:
    """Return a jar that stays empty, so that no caller is sent upstream with what another was given."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


def cookie_behind(cookie: str, path: str) -> str:
    """Return a `Set-Cookie` of an upstream as a caller on loopback can keep it.

    Args:
        cookie: As the upstream wrote it, for its own host.
        path: Of the upstream at the proxy. Browsers and clients share the cookies of all ports and paths of a host, so
            the cookie is confined to it.
    """
    pair, *attributes = (part.strip() for part in cookie.split(";"))
    kept = [part for part in attributes if part.partition("=")[0].strip().lower() not in ("domain", "path", "secure")]
    own = next((part.partition("=")[2] for part in attributes if part.lower().startswith("path=/")), "/")
    return "; ".join([pair, f"Path={path}{own.rstrip('/')}", *kept])


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return whom to trust, read once in a process."""
    return ssl.create_default_context()


async def call_function(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function in place of a service, asynchronous or not."""
    found = function(**arguments)
    return await found if isinstance(found, Awaitable) else found


def _is_turn(before: Any, entry: Any) -> bool:
    """Whether an entry of a conversation begins something that the model said; an API may split it into several."""
    return _is_models(entry) and not _is_models(before)


def _is_models(entry: Any) -> bool:
    if not isinstance(entry, Mapping):
        return False
    return entry.get("role") == "assistant" or entry.get("type") in ("function_call", "reasoning")


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:  # a date
        return None
