"""Tools of pydantic-ai behind doors."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic_ai.toolsets import WrapperToolset
from pydantic_ai.toolsets.function import FunctionToolsetTool
from pydantic_core import PydanticSerializationError

from chaosagent.adapters.core.sent import SentArguments
from chaosagent.adapters.core.translated import translate_exceptions
from chaosagent.adapters.pydantic_ai.agent_run import AgentRun
from chaosagent.adapters.pydantic_ai.errors import crossing_error, own_error
from chaosagent.adapters.pydantic_ai.messages import plain_arguments, plain_result, result_of
from chaosagent.canonical import Plain
from chaosagent.errors import TargetError

_CALLED: ContextVar[str] = ContextVar("chaosagent_pydantic_ai_tool")


@dataclass
class NamedTools(WrapperToolset[Any]):  # type: ignore[misc]  # pydantic-ai is not in every checkout
    """Remembers by which name the model called a tool: inside, it may have another one."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Call a tool."""
        token = _CALLED.set(name)
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        finally:
            _CALLED.reset(token)


@dataclass
class ToolsBehindDoors(WrapperToolset[Any]):  # type: ignore[misc]  # pydantic-ai is not in every checkout
    """Puts the tools of one toolset behind doors.

    Attributes:
        agent_run: Whose doors.
    """

    agent_run: AgentRun

    async def get_tools(self, ctx: Any) -> dict[str, Any]:
        """Put functions themselves behind doors: within the time limits that the toolset keeps."""
        return {name: self._behind_door(tool) for name, tool in (await super().get_tools(ctx)).items()}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Call a tool; one that is no function crosses its door here."""
        call = super().call_tool
        if isinstance(tool, FunctionToolsetTool):
            return await call(name, tool_args, ctx, tool)
        return await use(self.agent_run, tool, lambda arguments: call(name, arguments, ctx, tool), tool_args, ctx)

    def _behind_door(self, tool: Any) -> Any:
        if not isinstance(tool, FunctionToolsetTool):
            return tool
        return replace(tool, call_func=partial(_use_function, self.agent_run, tool))


async def _use_function(agent_run: AgentRun, tool: Any, arguments: Any, ctx: Any) -> Any:
    return await use(agent_run, tool, lambda given: tool.call_func(given, ctx), arguments, ctx)


async def use(agent_run: AgentRun, tool: Any, call: Callable[[Any], Awaitable[Any]], arguments: Any, ctx: Any) -> Any:
    """Call a tool through its door.

    Args:
        agent_run: Whose doors.
        tool: As the framework has it.
        call: Calls it with validated arguments.
        arguments: Validated, as the framework has them.
        ctx: The framework's context of the call.

    Returns:
        What the framework is to be given for the tool's result.
    """
    name, named = _CALLED.get(tool.tool_def.name), plain_arguments(arguments)
    sent = SentArguments(named)

    async def world(given: Any) -> Plain:
        """Call the tool itself; arguments that an injection changed are validated again."""
        result = await call(arguments if sent.is_left(given) else tool.args_validator.validate_json(json.dumps(given)))
        try:
            return plain_result(result)
        except PydanticSerializationError as error:
            raise TargetError(
                f"tool {name!r} returns a {type(result).__name__}, of which no model can be told: {error}. Return what "
                "JSON can hold."
            ) from error

    async def deliver(given: dict[str, Any]) -> Plain:
        """Hand on; what the other agent raises crosses as a replay can raise it again."""
        with translate_exceptions(crossing_error):
            return await world(given["body"])

    crossings, agent, call_id = agent_run.crossings, agent_run.agent, ctx.tool_call_id or ""
    with translate_exceptions(own_error):
        if name in agent_run.handoffs:
            value = await crossings.hand_over(agent, name, named, deliver, channel=name, call_id=call_id)
        else:
            value = await crossings.tool(agent, name, named, world, call_id=call_id)
    return result_of(value)
