"""The doors that requests to one MCP server cross, whatever brings them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from chaosagent.adapters.doors import FrameworkDoors, Tools, clean_name
from chaosagent.adapters.mcp import answers
from chaosagent.canonical import Plain, plain
from chaosagent.effects.condition import Condition
from chaosagent.effects.failed_when import EVERY, FailedWhen
from chaosagent.effects.rule import EffectOf, EffectRule
from chaosagent.errors import TargetError, UnknownNameError, UsageError
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.proxy.concurrency import CallOrder
from chaosagent.targets.call_handler import Handler, handed_over, through
from chaosagent.targets.target import Run
from chaosagent.vocabulary import ActionBlocked, Effect, ServiceFault, StatusError

Forward = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Asks the server itself with other parameters, returns its result, and raises `MCPError` for an error."""

HANDSHAKES = ("initialize", "server/discover")
PAGES_MAX = 100


class ServerDoors:
    """The doors of one run to one MCP server.

    Args:
        run: The run.
        name: Of the server.
        tools: What is known about its tools, by their names.

    Attributes:
        tool_names: Tools that the server is known to have; `None` as long as it was not asked.
        together: Puts calls into an order where time is real.
    """

    def __init__(self, run: Run, name: str, tools: Tools) -> None:
        self.run, self.name, self._said = run, clean_name(name), tools
        self.tool_names: list[str] | None = None
        self.together = CallOrder()
        self._info: Any = None
        self._doors = FrameworkDoors(
            run,
            Tools(
                {self._tool(tool): _rule(rule) for tool, rule in tools.effects.items()},
                [self._tool(tool) for tool in tools.read_only],
                {self._tool(tool): stale for tool, stale in tools.stale.items()},
                tools.errors,
                [self._tool(tool) for tool in tools.egress],
                FailedWhen(
                    {
                        tool if tool == EVERY else self._tool(tool): _MeantCondition(condition)
                        for tool, condition in tools.failing.conditions.items()
                    }
                ),
            ),
        )

    def _tool(self, tool: str) -> str:
        return f"{self.name}.{clean_name(tool)}"

    def check(self) -> None:
        """Refuse what is said of tools that the server does not have, once it has listed them.

        Raises:
            TargetError: There is such a name; with the nearest tool.
        """
        try:
            if self.tool_names is not None:
                self._said.check(self.tool_names)
        except UnknownNameError as error:  # in the middle of a run it is the run that is worth nothing
            raise TargetError(f"MCP server {self.name!r}: {error}") from error

    async def request(self, method: str, params: Mapping[str, Any], forward: Forward) -> dict[str, Any]:
        """Take a request through its door.

        Args:
            method: Of the protocol, such as `tools/call`.
            params: Its parameters.
            forward: Asks the server.

        Returns:
            The result that the client is told.

        Raises:
            MCPError: The client gets an error.
        """
        given = dict(params)
        if isinstance(asyncio.get_running_loop(), RealTimeLoop):
            forward = self._in_order(forward)
        try:
            if method == "tools/call" and isinstance(given.get("name"), str):
                result = await self._call(given, forward)
            elif method == "tools/list":
                result = {"tools": await self._doors.listed(self.name, self._lister(given, forward))}
            elif method == "resources/read":
                result = await self._read(given, forward)
            else:
                result = await self._ask(method, given, forward)
        except MCPError:
            raise
        except Exception as error:
            result = _told_of(error, method, str(given.get("name")))
        return answers.for_protocol_version(result, method, given, self._info)

    def told(self, words: str) -> None:
        """Take notice that an error was sent to a client.

        Args:
            words: Its message.
        """

    def _in_order(self, forward: Forward) -> Forward:
        """Let answers come in the order of asking: which is ready first is a matter of the machine."""

        async def ordered(params: dict[str, Any]) -> dict[str, Any]:
            async with self.together.in_order():
                return await forward(params)

        return ordered

    async def _call(self, params: dict[str, Any], forward: Forward) -> dict[str, Any]:
        tool, sent = params["name"], _mapping(params.get("arguments"))
        said = {key: params[key] for key in ("inputResponses",) if key in params}
        unaltered = plain({**sent, **said})

        async def world(arguments: dict[str, Any]) -> Any:
            wanted = params
            if plain(arguments) != unaltered:
                wanted = {**params, "arguments": {key: value for key, value in arguments.items() if key not in said}}
            result = await _asked(forward, wanted)
            text = answers.failure_in(result)
            if text is not None:
                raise ServiceFault(text)
            return answers.crossing_value(result)

        return answers.result_of(await self._doors.tool(self._tool(tool), {**sent, **said}, world))

    def _lister(self, params: dict[str, Any], forward: Forward) -> Handler:
        async def world(_: dict[str, Any]) -> Any:
            listed: list[Any] = []
            wanted = params
            for _page in range(PAGES_MAX):
                result = await _asked(forward, wanted)
                listed += result.get("tools") or []
                if not result.get("nextCursor"):
                    break
                wanted = {**params, "cursor": result["nextCursor"]}
            self.tool_names = [str(tool.get("name")) for tool in listed]
            return listed

        return world

    async def _read(self, params: dict[str, Any], forward: Forward) -> dict[str, Any]:
        async def world(arguments: dict[str, Any]) -> Any:
            return answers.passages_of(await _asked(forward, {**params, **arguments}))

        door = self.run.retrieval(self.name, handed_over)
        return answers.contents_of(await through(door, "read", {"uri": params.get("uri")}, world))

    async def _ask(self, method: str, params: dict[str, Any], forward: Forward) -> dict[str, Any]:
        sent = {key: value for key, value in params.items() if key != "_meta"}
        if method in HANDSHAKES:
            sent = {}

        async def world(arguments: dict[str, Any]) -> Any:
            result = await forward({**params, **arguments})
            info = (result.get("_meta") or {}).get(answers.SERVER_INFO)
            kept = answers.without_server_fields(result)
            return kept | {answers.SERVER_INFO: info} if method == "server/discover" and info else kept

        door = self.run.service(self.name, handed_over, read_only=True)
        result = _mapping(await through(door, method, sent, _with_errors(world)))
        if answers.SERVER_INFO in result:
            self._info = result.pop(answers.SERVER_INFO)
        if method == "prompts/get":
            for message in result.get("messages") or ():
                content = message.get("content") if isinstance(message, Mapping) else None
                if isinstance(content, dict) and isinstance(content.get("text"), str):
                    content["text"] = str(await self.run.prompt(self.name)("read", text=content["text"]))
        return result


def _with_errors(world: Handler) -> Handler:
    """Let the errors of a server cross as ones that a replay can raise again."""

    async def crossing(arguments: dict[str, Any]) -> Any:
        try:
            return await world(arguments)
        except MCPError as error:
            raise _server_error(error) from error

    return crossing


async def _asked(forward: Forward, params: dict[str, Any]) -> dict[str, Any]:
    try:
        return answers.without_server_fields(await forward(params))
    except MCPError as error:
        raise _server_error(error) from error


def _server_error(error: MCPError) -> ServiceFault:
    """Return a JSON-RPC error as what any door can raise again in a replay: code, message and data."""
    try:
        data = plain(error.data)
    except UsageError:
        data = str(error.data)
    return ServiceFault(error.code, error.message, data)


def _told_of(error: Exception, method: str, tool: str) -> dict[str, Any]:
    """Return or raise what a client meets where a server fails like this.

    Raises:
        MCPError: It is no failure of a tool that a model could be told of.
    """
    if isinstance(error, ServiceFault) and len(error.args) == 3:
        raise MCPError(*error.args) from error
    if isinstance(error, TimeoutError):
        raise MCPError(types.REQUEST_TIMEOUT, f"Request {method!r} timed out") from error
    if isinstance(error, ConnectionError):
        raise MCPError(types.CONNECTION_CLOSED, "Connection closed") from error
    if method == "tools/call" and isinstance(error, ServiceFault | ActionBlocked):
        return answers.failed_result(str(error))
    if method == "tools/call" and isinstance(error, StatusError):
        return answers.failed_result(f"Error executing tool {tool}: {error}")
    if isinstance(error, ServiceFault | ActionBlocked | StatusError):
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
    raise error


def _rule(rule: EffectRule) -> EffectRule:
    if not isinstance(rule, EffectOf):
        return _Meant(rule)
    if rule.function is None and rule.when is None:
        return rule
    return replace(
        rule,
        function=None if rule.function is None else _Meant(rule.function),
        when=None if rule.when is None else _MeantCondition(rule.when),
    )


@dataclass(frozen=True, slots=True)
class _Meant:
    """A rule for effects that is told what a tool says, without the form in which it says it."""

    rule: Callable[[Mapping[str, Plain], Plain], Any]

    def __call__(self, arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
        made: Effect | None = self.rule(arguments, answers.content_value(answer))
        return made


@dataclass(frozen=True, slots=True)
class _MeantCondition:
    """Applies a condition to what a tool says, without the wrapping of an MCP result."""

    condition: Condition

    def why(self, arguments: Mapping[str, Plain], answer: Plain) -> str:
        return self.condition.why(arguments, answers.said_value(answer))


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
