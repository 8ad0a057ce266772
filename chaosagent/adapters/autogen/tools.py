"""Tools and workbenches of AutoGen behind doors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core.tools import BaseTool, FunctionTool, StreamTool, TextResultContent, ToolResult, Workbench
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from chaosagent.adapters.core.annotated import plain_result, rebuilt
from chaosagent.adapters.core.sent import SentArguments
from chaosagent.canonical import Plain

Cross = Callable[[str, str, dict[str, Any], Callable[[dict[str, Any]], Awaitable[Any]]], Awaitable[Any]]
"""Takes a call through its door: the tool's name, the id of the call, its arguments, and what calls the tool itself."""


class DoorTool(BaseTool[Any, Any]):  # type: ignore[misc]  # AutoGen is not in every checkout
    """A tool whose calls cross a door; for AutoGen it is that tool, but one that streams does so no more.

    Args:
        inner: The tool.
        cross: Takes a call through the door.
        turn: Held while a plain function runs, which AutoGen puts into a thread; `None` where they may overlap.
    """

    def __init__(self, inner: Any, cross: Cross, turn: asyncio.Lock | None) -> None:
        self.inner, self._cross = inner, cross
        self._turn = turn if _is_threaded(inner) else None

    @property
    def name(self) -> str:
        """The tool's name."""
        return str(self.inner.name)

    @property
    def description(self) -> str:
        """Its description, as a model gets it."""
        return str(self.inner.description)

    @property
    def schema(self) -> Any:
        """Its description with its arguments, as a model gets it."""
        return self.inner.schema

    def args_type(self) -> Any:
        return self.inner.args_type()

    def return_type(self) -> Any:
        return self.inner.return_type()

    def state_type(self) -> Any:
        return self.inner.state_type()

    def return_value_as_string(self, value: Any) -> str:
        if isinstance(value, str) or (value is None and isinstance(self.inner, StreamTool)):
            return value or ""
        return str(self.inner.return_value_as_string(value))

    async def run(self, args: Any, cancellation_token: Any) -> Any:
        return await self.run_json(args.model_dump(mode="json"), cancellation_token)

    async def run_json(self, args: Mapping[str, Any], cancellation_token: Any, call_id: str | None = None) -> Any:
        """Call the tool; arguments that it does not take are refused before they cross."""
        arguments = self._sent(args)
        sent = SentArguments(arguments)

        async def world(given: dict[str, Any]) -> Plain:
            result = await self._run(args if sent.is_left(given) else given, cancellation_token, call_id)
            if isinstance(self.inner, StreamTool):  # a whole conversation, of which the model is shown this
                return str(self.inner.return_value_as_string(result))
            return plain_result(result, self.inner.return_type(), self.return_value_as_string(result))

        told = await self._cross(self.name, call_id or "", arguments, world)
        return told if isinstance(self.inner, StreamTool) else rebuilt(told, self.inner.return_type())

    async def save_state_json(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = await self.inner.save_state_json()
        return state

    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        await self.inner.load_state_json(state)

    def dump_component(self) -> Any:
        """Return the description of the tool itself."""
        return self.inner.dump_component()

    async def _run(self, args: Mapping[str, Any], cancellation_token: Any, call_id: str | None) -> Any:
        if self._turn is None:
            return await self.inner.run_json(args, cancellation_token, call_id=call_id)
        async with self._turn:
            return await self.inner.run_json(args, cancellation_token, call_id=call_id)

    def _sent(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments as they cross: validated, with the defaults of those that the model left out."""
        validated = self.inner.args_type().model_validate(args)
        try:
            found: dict[str, Any] = validated.model_dump(mode="json", exclude={"cancellation_token"})
        except PydanticSerializationError:
            return dict(args)
        return found


class DoorWorkbench(Workbench):  # type: ignore[misc]  # AutoGen is not in every checkout
    """A workbench that is no plain list of tools, such as one of an MCP server: each call of it crosses a door.

    Args:
        inner: The workbench.
        cross: Takes a call through the door.
    """

    def __init__(self, inner: Any, cross: Cross) -> None:
        self.inner, self._cross = inner, cross

    async def list_tools(self) -> Any:
        return await self.inner.list_tools()

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: Any = None,
        call_id: str | None = None,
    ) -> ToolResult:
        """Call a tool."""

        async def world(given: dict[str, Any]) -> Plain:
            result = await self.inner.call_tool(name, given, cancellation_token, call_id)
            found: dict[str, Plain] = result.model_dump(mode="json")
            return found

        return _tool_result(name, await self._cross(name, call_id or "", dict(arguments or {}), world))

    async def start(self) -> None:
        await self.inner.start()

    async def stop(self) -> None:
        await self.inner.stop()

    async def reset(self) -> None:
        await self.inner.reset()

    async def save_state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = await self.inner.save_state()
        return state

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await self.inner.load_state(state)

    def dump_component(self) -> Any:
        """Return the description of the workbench itself."""
        return self.inner.dump_component()


def runs_agent(tool: Any) -> bool:
    """Whether a tool hands its task on to another agent, or to a team."""
    return isinstance(tool, AgentTool | TeamTool)


def _is_threaded(tool: Any) -> bool:
    return isinstance(tool, FunctionTool) and not asyncio.iscoroutinefunction(tool._func)


def _tool_result(name: str, told: Any) -> ToolResult:
    """Return what an agent is told as the result of a tool; what is none any more, as its text."""
    try:
        return ToolResult.model_validate(told)
    except ValidationError:
        text = told if isinstance(told, str) else "" if told is None else str(told)
        return ToolResult(name=name, result=[TextResultContent(content=text)])
