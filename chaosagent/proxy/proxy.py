"""The proxy of one run: one server on loopback, with the doors of the run behind its paths.

=====================================  =========================================================================
`/r/<run>-<token>/<upstream>/v1/...`   a model: chat completions, responses and messages cross `model:<upstream>`,
                                       the tools that they offer `tools:<upstream>`; any other path, such as
                                       `/v1/models`, crosses `service:<upstream>`
`/r/<run>-<token>/<service>/...`       a tool or service: crosses `service:<service>` as `METHOD /path`
`/r/<run>-<token>/<server>/mcp`        an MCP server over streamable HTTP: crosses as `chaosagent.adapters.mcp` says;
                                       over stdio it is a command that the agent starts, `<SERVER>_MCP_COMMAND`
=====================================  =========================================================================

The token is drawn for each run and stands in the addresses that are printed and in the environment of a command, and
nowhere else: what crosses has a fixed word in its place. With it, and as requests of browsers and for other hosts are
refused, no page that a browser shows can use the proxy.

A time-out or a broken connection is one for the agent, too: nothing is answered, the connection is reset; an answer
that was to be streamed begins and breaks off. Keys of the agent (Authorization, x-api-key) go to the upstream with the
other headers and nowhere else: headers of a request do not cross. A stream is read to its end, crosses as a whole, and
is streamed again, so its first piece comes when the last one has.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import shlex
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from chaosagent.canonical import Plain
from chaosagent.errors import ChaosAgentError
from chaosagent.extras import require
from chaosagent.proxy.bodies import BodyLimits
from chaosagent.proxy.chat_completions import ChatCompletions
from chaosagent.proxy.concurrency import SECONDS, CallOrder
from chaosagent.proxy.dialect import Body, Dialect
from chaosagent.proxy.failing import ErrorAnswer, error_answer, service_error
from chaosagent.proxy.messages import Messages
from chaosagent.proxy.model import ModelDoor
from chaosagent.proxy.parse_json import LongNumberError, UncrossableError, parse_json
from chaosagent.proxy.responses import Responses
from chaosagent.proxy.server import EXTRA, LOOPBACK, Connections, bound_socket, serving
from chaosagent.proxy.service import Call, Service, ServiceDoor, refuse_unnamed
from chaosagent.proxy.sse import written_event
from chaosagent.proxy.upstream import (
    Client,
    Joined,
    McpUpstream,
    Reply,
    Scripted,
    Server,
    base_url,
    cookie_behind,
    scripted_paths,
)
from chaosagent.proxy.workspace import Surroundings, Workspace, change_texts
from chaosagent.proxy.world_errors import UpstreamErrors, WorldErrors
from chaosagent.targets.target import Run

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

T = TypeVar("T")

BAD_REQUEST, NOT_FOUND = 400, 404
TOKEN_BYTES = 16
OTHER_ADDRESS = (
    "nothing is at this address. Addresses hold a token that changes with every run: use those that this proxy has "
    "printed, or has put into the environment of the command"
)
_METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
_DIALECTS: tuple[Dialect, ...] = (ChatCompletions(), Responses(), Messages())

_READ_ONLY = ("GET /v1/models", "GET /v1/models/{model}", "POST /v1/embeddings", "POST /v1/messages/count_tokens")


@dataclass(frozen=True, slots=True)
class Backends:
    """What stands behind a proxy.

    Attributes:
        models: URL of a model's API, or a function in its place, by name.
        services: By name.
        mcp: MCP servers, by name.
        prompts: What tools answered crosses `prompt:<model>` before a model reads it.
        pure: A model's answer depends on the request and on chance alone.
        together_seconds: How long a call waits for others that the agent makes at the same time.

    Raises:
        TargetError: A name is not fit for one, or two are the same.
        UsageError: A service declares what is no operation, or a URL or a command is none.
        MissingExtraError: There are MCP servers, and the extra `mcp` is not installed.
    """

    models: Mapping[str, str | Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)
    services: Mapping[str, Service] = field(default_factory=dict)
    mcp: Mapping[str, McpUpstream] = field(default_factory=dict)
    prompts: bool = False
    pure: bool = True
    together_seconds: float = SECONDS

    def __post_init__(self) -> None:
        refuse_unnamed([*self.models, *self.services, *self.mcp])
        for name, model in self.models.items():
            if isinstance(model, str):
                base_url(model, name)
        for name, service in self.services.items():
            service.check()
            if isinstance(service.upstream, str):
                base_url(service.upstream, name)
        for server in self.mcp.values():
            server.check_installed()
        for name, server in self.mcp.items():
            server.check(name)


class Proxy:
    """The proxy of one run.

    Args:
        run: The run.
        behind: What stands behind it.
        run_id: Stands in the paths in front of the token, for people who look for a run in a list of processes.
        limits: Of bodies and callers; `None` for none, where the agent is a process of the run.
        workspace: Of the processes of the run; its folder reaches no trace.

    Attributes:
        troubles: What went wrong behind the proxy.
        world_errors: What went wrong in the functions behind it.
        over: Set when the run can go no further, whatever the agent still wants.
        together: Lets calls in.
    """

    def __init__(
        self,
        run: Run,
        behind: Backends,
        run_id: str = "run",
        limits: BodyLimits | None = None,
        *,
        workspace: Workspace | None = None,
    ) -> None:
        self._run, self._behind, self._limits, self._workspace = run, behind, limits, workspace
        self._token = secrets.token_hex(TOKEN_BYTES)
        self._segment = f"{run_id}-{self._token}"
        self._connections = Connections()
        self._port = 0
        self._models: dict[str, ModelDoor] = {}
        self._services: dict[str, ServiceDoor] = {}
        self._mcp: dict[str, Joined] = {}
        self.troubles, self.world_errors = UpstreamErrors(), WorldErrors()
        self.over = asyncio.Event()
        self.together = CallOrder(behind.together_seconds if run.clock.of_study else 0.0)

    @contextlib.asynccontextmanager
    async def open(self, bound: socket.socket | None = None) -> AsyncIterator[dict[str, str]]:
        """Serve for as long as a `with` block lasts.

        Args:
            bound: Where; any free port of loopback by default. It is closed in the end.

        Yields:
            The variables that tell an agent where to ask: `OPENAI_BASE_URL`, `<SERVICE>_URL`, ...

        Raises:
            MissingExtraError: What the proxy needs is not installed.
            TargetError: In the end: something was said of a tool that an MCP server does not have.
        """
        bound = bound_socket(0) if bound is None else bound
        self._port = bound.getsockname()[1]
        async with contextlib.AsyncExitStack() as opened:
            opened.callback(bound.close)
            client = Client(self._limits)
            opened.push_async_callback(client.close)
            self._make_doors(client)
            for name, server in self._behind.mcp.items():
                surroundings = Surroundings(self.troubles, self.together, self.over, self._workspace)
                joined = server.join(self._run, name, surroundings)
                self._mcp[name] = await opened.enter_async_context(joined)
            await opened.enter_async_context(serving(self._application(), self._connections, bound, self._limits))
            yield self.variables
        for one in self._mcp.values():
            one.check()

    @property
    def variables(self) -> dict[str, str]:
        """Where to ask, by the name of the variable."""
        base = f"http://{LOOPBACK}:{self._port}/r/{self._segment}"
        found = {}
        for name in self._behind.models:
            # Anthropic's clients put the version of the API in front of their paths themselves.
            found[f"{_capitals(name)}_BASE_URL"] = f"{base}/{name}" + ("" if name == "anthropic" else "/v1")
        found |= {f"{_capitals(name)}_URL": f"{base}/{name}" for name in self._behind.services}
        for name, one in self._mcp.items():
            found[f"{_capitals(name)}_MCP_COMMAND"] = shlex.join(one.command)
            if one.answer is not None:
                found[f"{_capitals(name)}_MCP_URL"] = f"{base}/{name}/mcp"
        return found

    def neutral(self, value: Any) -> Any:
        """Return plain data in which no text names the port, the token or the folder of this run."""

        def change(text: str) -> str:
            if str(self._port) not in text and self._token not in text:
                return text
            text = text.replace(self._segment, "run").replace(self._token, "token")
            for before in (f"{LOOPBACK}:", "localhost:", "port=", "port "):
                text = text.replace(f"{before}{self._port}", f"{before}0")
            return text

        value = change_texts(value, change)
        return value if self._workspace is None else self._workspace.hidden(value)

    async def state(self) -> dict[str, Plain]:
        """Return the final states of the services that tell them, by name."""
        told = {name: await door.state() for name, door in self._services.items()}
        return {name: state for name, state in told.items() if state is not None}

    def _make_doors(self, client: Client) -> None:
        together = self.together
        for name, place in self._behind.models.items():
            self._models[name] = ModelDoor(
                self._run,
                name,
                Server(name, place, self.troubles, client)
                if isinstance(place, str)
                else Scripted(place, self.world_errors),
                together=together,
                neutral=self.neutral,
                with_prompts=self._behind.prompts,
                pure=self._behind.pure,
            )
            beside = Service(place if isinstance(place, str) else scripted_paths, read_only=_READ_ONLY)
            self._services[name] = self._service_door(name, beside, together, client)
        for name, service in self._behind.services.items():
            known = service if self._run.clock.of_study else replace(service, reset="")
            self._services[name] = self._service_door(name, known, together, client)

    def _service_door(self, name: str, service: Service, together: CallOrder, client: Client) -> ServiceDoor:
        place = service.upstream
        server = Server(name, place, self.troubles, client) if isinstance(place, str) else None
        return ServiceDoor(
            self._run,
            name,
            service,
            server=server,
            together=together,
            neutral=self.neutral,
            errors=self.world_errors,
            workspace=self._workspace,
        )

    # ------------------------------------------------------------------ what is answered over HTTP

    def _application(self) -> ASGIApp:
        applications = require("starlette.applications", extra=EXTRA, needed_by="the proxy")
        routing = require("starlette.routing", extra=EXTRA, needed_by="the proxy")
        application: ASGIApp = applications.Starlette(
            routes=[routing.Route("/{path:path}", self._answer, methods=_METHODS)]
        )
        return application

    async def _answer(self, request: Request) -> Response:
        response = await self._routed(request)
        body = getattr(response, "body", None)
        if self._workspace is not None and isinstance(body, bytes):
            response.body = self._workspace.restored(body)
            response.headers["content-length"] = str(len(response.body))
        return response

    async def _routed(self, request: Request) -> Response:
        raw = request.scope.get("raw_path") or request.url.path.encode()
        _, marker, segment, name, path = (raw.decode("ascii", "replace").split("/", 4) + [""] * 5)[:5]
        if marker != "r" or not hmac.compare_digest(segment.encode(), self._segment.encode()):
            return _plain_error(NOT_FOUND, OTHER_ADDRESS)
        reached = self._mcp.get(name)
        if reached is not None and reached.answer is not None and path == "mcp":
            return await reached.answer(request)
        if name not in self._services:
            known = ", ".join(sorted([*self._services, *self._mcp])) or "none"
            return _plain_error(NOT_FOUND, f"nothing here is called {name!r}; known are: {known}")
        path = f"/{path}"
        dialect = next((one for one in _DIALECTS if one.path == path), None)
        if request.method == "POST" and name in self._models and dialect is not None:
            return await self._asked(request, self._models[name], dialect)
        return await self._called(request, name, path)

    async def _asked(self, request: Request, door: ModelDoor, dialect: Dialect) -> Response:
        wanted, why = None, "the body is no JSON object"
        try:
            wanted = parse_json(await request.body())
        except (UncrossableError, LongNumberError) as refused:
            why = f"the body cannot cross: {refused}."
        except ValueError:
            pass
        if not isinstance(wanted, dict):
            return _sent(ErrorAnswer(BAD_REQUEST, _dumped(dialect.error_body(BAD_REQUEST, why)), {}))
        told = await self._crossed(request, door.complete(dialect, wanted, request.headers.items()))
        if isinstance(told, dict):
            is_stream = wanted.get("stream") is True
            return _streamed(dialect, told, wanted) if is_stream else _sent(ErrorAnswer(200, _dumped(told), {}))
        error = error_answer(told, dialect.error_body)
        if error is not None:
            return _sent(error)
        if wanted.get("stream") is True:
            return self._broken_off(request, dialect, wanted)
        return await self._hung_up(request)

    async def _called(self, request: Request, name: str, path: str) -> Response:
        path, query = self.neutral([path, request.url.query])
        call = Call(request.method, path, query, request.headers.items(), await request.body())
        told = await self._crossed(request, self._services[name].cross(call))
        if isinstance(told, UncrossableError):
            return _plain_error(BAD_REQUEST, f"the body cannot cross: {told}.")
        if isinstance(told, Reply):
            response = _sent(ErrorAnswer(told.status, told.body, told.headers))
            for cookie in told.cookies:
                response.headers.append("set-cookie", cookie_behind(cookie, f"/r/{self._segment}/{name}"))
            return response
        error = error_answer(told, service_error)
        return await self._hung_up(request) if error is None else _sent(error)

    async def _crossed(self, request: Request, crossing: Coroutine[Any, Any, T]) -> T | BaseException:
        """Return what a door answered or raised; the call is given up when its caller goes away."""
        task = asyncio.ensure_future(crossing)
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        finally:
            gone.cancel()
            task.cancel()
        if task.cancelled():
            return ConnectionError("the caller has gone away")
        error = task.exception()
        if error is None:
            return task.result()
        if not isinstance(error, Exception) or isinstance(error, ChaosAgentError):
            self.over.set()
        return error

    async def _hung_up(self, request: Request) -> Response:
        """Answer nothing."""
        assert request.client is not None
        self._connections.hang_up((request.client.host, request.client.port))
        await _gone(request)
        return _plain_error(NOT_FOUND, "nobody reads this")

    def _broken_off(self, request: Request, dialect: Dialect, wanted: Body) -> Response:
        """Begin a stream that never comes to its end."""
        responses = require("starlette.responses", extra=EXTRA, needed_by="the proxy")
        client = request.client
        assert client is not None

        async def beginning() -> AsyncIterator[bytes]:
            yield written_event(next(dialect.events_of(dialect.body_of({"content": ""}, "broken"), wanted)))
            self._connections.hang_up((client.host, client.port), gently=True)
            await _gone(request)

        response: Response = responses.StreamingResponse(beginning(), media_type="text/event-stream")
        return response


def _capitals(name: str) -> str:
    return name.upper().replace("-", "_")


async def _gone(request: Request) -> None:
    """Wait until a caller has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _streamed(dialect: Dialect, body: Body, wanted: Body) -> Response:
    whole = b"".join(written_event(event) for event in dialect.events_of(body, wanted))
    return _sent(ErrorAnswer(200, whole, {"content-type": "text/event-stream; charset=utf-8"}))


def _plain_error(status: int, message: str) -> Response:
    return _sent(ErrorAnswer(status, _dumped({"error": {"message": f"chaosagent proxy: {message}"}}), {}))


def _sent(answer: ErrorAnswer) -> Response:
    responses = require("starlette.responses", extra=EXTRA, needed_by="the proxy")
    headers = {"content-type": "application/json", **answer.headers}
    response: Response = responses.Response(answer.body, answer.status, headers)
    return response


def _dumped(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
