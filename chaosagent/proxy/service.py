"""A tool or service over HTTP: what its requests and responses are when they cross the door `service:<name>`.

A call is the operation `METHOD /path` with what changes in the path, the query and the fields of a JSON body as
arguments. An answer is what its JSON says; one that has another status than 200, is no JSON, or has headers that
matter, is a mapping of `status`, `headers` and `body`. An error status is a failure. A key in the query, such as
`api_key`, goes to the upstream; `[secret]` crosses in its place.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from chaosagent.canonical import Plain
from chaosagent.effects.failed_when import EVERY, FailedWhenForm, failed_when_from
from chaosagent.effects.rule import EffectRule, is_effect_rule
from chaosagent.errors import TargetError, UsageError
from chaosagent.proxy.concurrency import CallOrder
from chaosagent.proxy.parse_json import UncrossableError, parse_json
from chaosagent.proxy.routes import SAFE, Routes, check_operation, fill_path, names_in
from chaosagent.proxy.upstream import Headers, Reply, Server, call_function
from chaosagent.proxy.withheld import is_secret, restored, withheld
from chaosagent.proxy.workspace import Workspace, hidden_in_errors
from chaosagent.proxy.world_errors import WorldErrors
from chaosagent.targets.call_handler import handed_over, through
from chaosagent.targets.target import Door, Run
from chaosagent.vocabulary import StatusError

NOT_FOUND = 404
_KEPT = ("location", "link", "etag", "content-range", "content-disposition", "retry-after", "allow")
"""Headers of a response that cross; `content-type` does where it is not JSON.
Cookies go to their caller without crossing: they are secrets."""
_WHOLE = {"status", "headers", "body"}
_JSON = "application/json"

Handlers = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Service:
    """A tool or service that an agent reaches over HTTP.

    Attributes:
        upstream: Its URL; or a function without arguments, called for each run, that returns what stands in its place:
            a function for each operation, by `METHOD /path`, that takes the arguments and returns plain data or raises
            `chaosagent.StatusError`. One under `state` tells the final state of this world.
        effects: What an operation commits, by `METHOD /path`; see `chaosagent.effect`.
        read_only: Operations that change nothing; those with GET, HEAD and OPTIONS are known not to.
        routes: Further operations, so that the changing parts of their paths have names.
        stale: What a cache would hold; see `Run.service`.
        egress: Whether what is sent here leaves the organisation.
        failed_when: Which responses are failed calls though their status says otherwise; by `METHOD /path` or for all,
            see `chaosagent.effects.condition`. Paths lead into the body.
        reset: An operation that a server is asked before each run, such as `POST /reset`.
    """

    upstream: str | Callable[[], Handlers]
    effects: Mapping[str, EffectRule] = field(default_factory=dict)
    read_only: Iterable[str] = ()
    routes: Iterable[str] = ()
    stale: Callable[[str, Mapping[str, Plain]], Plain] | None = None
    egress: bool = False
    reset: str = ""
    failed_when: FailedWhenForm | None = None

    def check(self) -> None:
        """Refuse operations that are none, and what is said of them in no form that is known.

        Raises:
            UsageError: There is such a one.
        """
        failing = failed_when_from(self.failed_when, "failed_when").conditions
        for operation, rule in self.effects.items():
            if not is_effect_rule(rule):
                raise UsageError(
                    f"effects of {operation!r} are {rule!r:.80}. Write chaosagent.effect('order'), with the names of "
                    "the arguments that identify an effect, or a function of arguments and answer."
                )
        for operation in (
            *self.effects,
            *(name for name in failing if name != EVERY),
            *self.read_only,
            *self.routes,
            *([self.reset] if self.reset else []),
        ):
            check_operation(operation)


class Call(NamedTuple):
    """A request as it came.

    Attributes:
        method: In capitals.
        path: Behind the name of the service, as it was encoded.
        query: As it was encoded.
        headers: In their order.
        body: As bytes.
    """

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes


class ServiceDoor:
    """The door to one service.

    Args:
        run: The run.
        name: Of the service.
        service: What is known about it.
        server: Where its requests go; `None` when functions stand in its place.
        together: Lets calls in.
        neutral: Takes out of plain data what differs from run to run.
        errors: Takes what functions behind the door raise.
        workspace: Of the processes of the run; what stands behind the door knows the real path of its folder.
    """

    def __init__(
        self,
        run: Run,
        name: str,
        service: Service,
        *,
        server: Server | None,
        together: CallOrder,
        neutral: Callable[[Any], Any],
        errors: WorldErrors,
        workspace: Workspace | None = None,
    ) -> None:
        self._errors, self._workspace = errors, workspace
        self._restored: Callable[[Any], Any] = _unchanged if workspace is None else workspace.restored
        self._hidden: Callable[[Any], Any] = _unchanged if workspace is None else workspace.hidden
        self._name, self._server, self._together, self._neutral = name, server, together, neutral
        self._service = service
        self._reset: asyncio.Future[Any] | None = None
        self.handlers = {} if isinstance(service.upstream, str) else dict(service.upstream())
        self._state = self.handlers.pop("state", None)
        known = {*service.effects, *service.read_only, *service.routes, *self.handlers}
        self._routes = Routes(known)
        self._door: Door = run.service(
            name,
            handed_over,
            effects=service.effects,
            failed_when=service.failed_when,
            read_only={operation for operation in known if operation.startswith(SAFE)} | set(service.read_only),
            stale=service.stale,
            egress=service.egress,
        )

    async def state(self) -> Plain:
        """Return the final state of the world behind the door; `None` when nobody tells it."""
        return None if self._state is None else await call_function(self._state, {})

    async def cross(self, call: Call) -> Reply:
        """Let a request through the door and return what is answered.

        Raises:
            UncrossableError: Its body is JSON that nests too deeply; nothing has crossed.
            Exception: What was injected.
        """
        cookies = list[str]()
        match = self._routes.match(call.method, call.path)
        query = _query_of(call.query)
        secret = {name: value for name, value in query.items() if _is_secret(name, value)}
        read = _body_of(call)
        arguments, inside = _flat(match.arguments, query, read)
        secrets = {name: secret[own] for name, own in inside.query.items() if own in secret}
        arguments |= {name: withheld(value) for name, value in secrets.items()}

        async def send(given: dict[str, Any]) -> Any:
            given = restored(given, secrets)
            async with self._together.in_order():
                with hidden_in_errors(self._workspace):
                    if self._server is None:
                        return self._hidden(await self._answered(match.operation, self._restored(given)))
                    reply = await self._sent(call, match.operation, given, inside)
                cookies.extend(reply.cookies)
                return self._hidden(value_of(reply))

        neutral = self._neutral(arguments)
        await self._together.enter(repr((self._name, match.operation, neutral)).encode("utf-8", "backslashreplace"))
        reply = reply_of(await through(self._door, match.operation, neutral, send))
        return reply._replace(cookies=tuple(cookies))

    async def _answered(self, operation: str, arguments: dict[str, Any]) -> Plain:
        function = self.handlers.get(operation)
        if function is None:
            listed = ", ".join(sorted(self.handlers)) or "none"
            raise StatusError(NOT_FOUND, f"{self._name} has no {operation}; its operations are {listed}")
        with self._errors.noted(f"{self._name} {operation}"):
            return await call_function(function, arguments)  # type: ignore[no-any-return]  # the crossing checks it

    async def _sent(self, call: Call, operation: str, given: dict[str, Any], inside: _Inside) -> Reply:
        assert self._server is not None
        if self._reset is None:  # only now: an exact replay asks nothing of the server, which need not be there
            method, _, place = self._service.reset.partition(" ")
            reset = self._server.send(method, place, (), b"") if place else asyncio.sleep(0)
            self._reset = asyncio.ensure_future(reset)
        await self._reset
        path, query, body = inside.apart(operation, given)
        text = f"?{query}" if query else ""
        place, body = self._restored([f"{path}{text}", body])
        return await self._server.send(call.method, place, call.headers, body)


def _unchanged(value: Any) -> Any:
    return value


class _Inside(NamedTuple):
    """Where the arguments of a call stood in its request.

    Attributes:
        query: Names as they cross, with those in the query.
        fields: Names as they cross, with those in a JSON object.
        whole: The name under which a body crosses that is no JSON object, empty when there is none.
        is_json: The body is JSON.
    """

    query: Mapping[str, str]
    fields: Mapping[str, str]
    whole: str
    is_json: bool

    def apart(self, operation: str, given: Mapping[str, Any]) -> tuple[str, str, bytes]:
        """Return path, query and body of a request with some arguments, whose number may have changed."""
        in_path = set(names_in(operation))
        query = {self.query[name]: value for name, value in given.items() if name in self.query}
        rest = {name: value for name, value in given.items() if name not in in_path and name not in self.query}
        if self.whole in rest:
            body = rest[self.whole]
            if not self.is_json:
                return fill_path(operation, given), urlencode(query, doseq=True), _as_bytes(body)
        else:
            body = {self.fields.get(name, name): value for name, value in rest.items()}
        content = _json_of(body) if self.is_json or body else b""
        return fill_path(operation, given), urlencode(query, doseq=True), content


def value_of(reply: Reply) -> Plain:
    """Return what crosses of a response."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip()
    headers = {name: reply.headers[name] for name in _KEPT if name in reply.headers}
    body: Any
    is_json = kind == _JSON or kind.endswith("+json")
    if is_json:
        try:
            body = parse_json(reply.body)
        except ValueError:  # it is passed on as it is: whether the agent can bear it is what is tested
            is_json = False
    if not is_json:
        body = _text_or_bytes(reply.body)
        headers |= {"content-type": reply.headers["content-type"]} if kind else {}
    if is_json and reply.status == 200 and not headers and not (isinstance(body, dict) and set(body) == _WHOLE):
        return body  # type: ignore[no-any-return]  # the crossing checks it
    return {"status": reply.status, "headers": headers, "body": body}


def reply_of(value: Plain) -> Reply:
    """Return the response that is made of what has crossed."""
    if isinstance(value, Mapping) and set(value) == _WHOLE and isinstance(value["headers"], Mapping):
        status, body = value["status"], value["body"]
        headers = {str(name): str(text) for name, text in value["headers"].items()}
        good = isinstance(status, int) and 200 <= status < 400
        if "content-type" in headers or body is None:
            return Reply(int(status) if good else 500, headers, _as_bytes(body))  # type: ignore[arg-type]  # checked
        return Reply(int(status) if good else 500, {**headers, "content-type": _JSON}, _json_of(body))  # type: ignore[arg-type]
    return Reply(200, {"content-type": _JSON}, _json_of(value))


def _flat(path: Mapping[str, str], query: Mapping[str, Any], body: _Body) -> tuple[dict[str, Any], _Inside]:
    """Return the arguments of a call by name; a name that stands at two places has the place in front."""
    arguments: dict[str, Any] = dict(path)
    queries, fields, whole = {}, {}, ""

    def put(place: str, name: str, value: Any) -> str:
        known = f"{place}.{name}" if name in arguments else name
        arguments[known] = value
        return known

    for name, value in query.items():
        queries[put("query", name, value)] = name
    if body.is_json and isinstance(body.value, dict):
        for name, value in body.value.items():
            fields[put("body", name, value)] = name
    elif body.there:
        whole = put("content", "body", body.value)
    return arguments, _Inside(queries, fields, whole, body.is_json)


class _Body(NamedTuple):
    value: Any
    there: bool
    is_json: bool


def _body_of(call: Call) -> _Body:
    if not call.body:
        return _Body(None, there=False, is_json=False)
    try:
        return _Body(parse_json(call.body), there=True, is_json=True)
    except UncrossableError:
        raise
    except ValueError:
        return _Body(_text_or_bytes(call.body), there=True, is_json=False)


def _query_of(query: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        found[name] = (
            [*found[name], value]
            if isinstance(found.get(name), list)
            else ([found[name], value] if name in found else value)
        )
    return found


def _is_secret(name: str, value: str | list[str]) -> bool:
    return any(is_secret(name, one) for one in ([value] if isinstance(value, str) else value))


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _as_bytes(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    if body is None:
        return b""
    return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else _json_of(body)


def _json_of(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=repr).encode("utf-8", "surrogatepass")


def refuse_unnamed(names: Iterable[str]) -> None:
    """Refuse names that cannot stand in a path or in the name of an interface.

    Raises:
        TargetError: There is such a one, or one twice.
    """
    listed = list(names)
    for name in listed:
        if not name.replace("-", "_").isidentifier():
            raise TargetError(f"an upstream or service is called {name!r}; use letters, digits, `_` and `-`.")
        if listed.count(name) > 1:
            raise TargetError(f"two upstreams or services are called {name!r}: their calls could not be told apart.")
