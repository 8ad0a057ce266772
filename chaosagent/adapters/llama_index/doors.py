"""The doors of one run for an agent of LlamaIndex."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llama_index.core.agent.workflow import BaseWorkflowAgent
from llama_index.core.tools import AsyncBaseTool, FunctionTool, ToolOutput, adapt_to_async_tool
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.annotated import plain_result, rebuilt, returned_by
from chaosagent.adapters.core.client_errors import errors_of
from chaosagent.adapters.core.crossings import Crossings
from chaosagent.adapters.core.framework import check_loop
from chaosagent.adapters.core.sent import SentArguments
from chaosagent.adapters.core.threads import Threads
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.adapters.doors import Tools, refuse_twice
from chaosagent.adapters.llama_index.messages import (
    answer_of,
    call_ids,
    describe_tool,
    in_order,
    messages_of,
    plain_messages,
    response_of,
)
from chaosagent.adapters.llama_index.model import Ask, DoorModel, model_name
from chaosagent.canonical import Plain, digest_of, pack
from chaosagent.errors import TargetError
from chaosagent.targets.call_handler import Handler
from chaosagent.targets.target import Run


class AgentDoors:
    """The doors of one run, and a copy of an agent that uses them. What was given stays as it is.

    Args:
        run: The run.
        agent: The agent.
        tools: What is known about the tools.

    Attributes:
        agent: The copy.

    Raises:
        TargetError: See `through_doors`.
        UnknownNameError: See `through_doors`.
    """

    def __init__(self, run: Run, agent: Any, tools: Tools) -> None:
        check_loop("LlamaIndex")
        if not isinstance(agent, BaseWorkflowAgent):
            raise TargetError(
                f"{type(agent).__name__} is no agent of llama_index.core.agent.workflow. Give through_doors the agent "
                "that is run, such as a FunctionAgent."
            )
        self._crossings = Crossings(run, tools)
        self._threads = Threads("LlamaIndex", "Use the asynchronous method.")
        self._name = agent.name
        self._pending: list[_Pending] = []
        given = [tool if hasattr(tool, "metadata") else FunctionTool.from_defaults(tool) for tool in agent.tools or ()]
        names = [tool.metadata.get_name() for tool in given]
        refuse_twice("tools", names)
        if agent.tool_retriever is None:
            tools.check(names)
        self.agent = copy.copy(agent)
        self.agent.llm = DoorModel.around(agent.llm, self._ask)
        self.agent.tools = [self._tool(tool) for tool in given]

    # ------------------------------------------------------------------ models

    async def _ask(self, model: Any, messages: Sequence[Any], tools: Sequence[Any], ask: Ask) -> Any:
        """Ask a model through its door."""
        crossings, messages = self._crossings, in_order(messages)
        with crossings.acting(self._name):
            shown = await self._toolbox(tools) if tools else []
            request: dict[str, Plain] = {"messages": plain_messages(messages)}
            if tools:
                told_of = [describe_tool(tool) for tool in shown]
                request |= {"tools": [tool["name"] for tool in told_of], "described": digest_of(told_of)}
            sent = SentArguments(request)

            async def world(given: dict[str, Any]) -> Plain:
                is_altered = "messages" in sent.changed(given)
                asked = messages_of(given.get("messages"), messages) if is_altered else messages
                left = [tool for tool in shown if tool.metadata.get_name() in given.get("tools", ())]
                response = await ask(asked, left)
                finds = getattr(model, "get_tool_calls_from_response", None)
                calls = finds(response, error_on_no_tool_call=False) if finds is not None and tools else []
                return answer_of(response, calls)

            told = await crossings.model(model_name(model), request, world, errors=errors_of(model))
            response = response_of(told, messages)
            calls = self.agent.llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
            self._pending = [_Pending(call.tool_id, call.tool_name, pack(call.tool_kwargs)) for call in calls]
            crossings.provenance.of_model(self._name, call_ids(messages)[1], [call.tool_id for call in calls])
        return response

    async def _toolbox(self, tools: Sequence[Any]) -> list[Any]:
        told = await self._crossings.toolbox.listed(self._name, [describe_tool(tool) for tool in tools])
        return as_listed(told, tools, describe_tool, _altered)

    # ------------------------------------------------------------------ tools

    def _tool(self, tool: Any) -> Any:
        if not isinstance(tool, FunctionTool):
            return DoorTool(adapt_to_async_tool(tool), self._call)
        made = copy.copy(tool)
        annotation, inner = returned_by(tool.real_fn), tool.async_fn
        is_plain = not asyncio.iscoroutinefunction(tool.real_fn)

        async def crossing(*args: Any, **named: Any) -> Any:
            kept = {name: value for name, value in named.items() if name == tool.ctx_param_name}
            arguments = {name: value for name, value in named.items() if name not in kept}
            sent = SentArguments(_plain(arguments))

            async def world(given: dict[str, Any]) -> Plain:
                wanted = {**(arguments if sent.is_left(given) else given), **kept}
                if is_plain:
                    result = await self._threads.apart(lambda: tool.fn(*args, **wanted))
                else:
                    result = await inner(*args, **wanted)
                return plain_result(result, annotation, str(result))

            return rebuilt(await self._call(tool.metadata.get_name(), _plain(arguments), world), annotation)

        made._async_fn = crossing
        return made

    async def _call(self, name: str, arguments: Mapping[str, Any], handler: Handler) -> Any:
        """Call a tool through its door."""
        call_id = self._taken(name, pack(arguments))
        return await self._crossings.tool(self._name, name, arguments, handler, call_id=call_id)

    def _taken(self, name: str, arguments: bytes) -> str:
        """Return the id of the call that a tool makes, which LlamaIndex does not tell the tool."""
        named = [call for call in self._pending if call.name == name]
        # With other arguments, where the model has left out some that have defaults.
        found = next((call for call in named if call.arguments == arguments), named[0] if named else None)
        if found is None:
            return ""
        self._pending.remove(found)
        return found.call_id


class _Pending(NamedTuple):
    """A call that the model has asked for, and no tool has made yet."""

    call_id: str
    name: str
    arguments: bytes


class DoorTool(AsyncBaseTool):  # type: ignore[misc]  # LlamaIndex is not in every checkout
    """A tool that is no function behind a door; its answer crosses as its text.

    Args:
        inner: The tool.
        cross: Takes a call through the door.
    """

    def __init__(self, inner: Any, cross: Any) -> None:
        self._inner, self._cross = inner, cross

    @property
    def metadata(self) -> Any:
        """Its description."""
        return self._inner.metadata

    def call(self, *_: Any, **__: Any) -> Any:
        """Refuse: LlamaIndex's agents call `acall`."""
        raise TargetError(f"the tool {self.metadata.get_name()!r} is called without `await`. Use `acall`.")

    async def acall(self, *args: Any, **named: Any) -> Any:
        """Call the tool."""

        async def world(given: dict[str, Any]) -> Plain:
            return str((await self._inner.acall(*args, **given)).content)

        told = await self._cross(self.metadata.get_name(), _plain(named), world)
        return ToolOutput(tool_name=self.metadata.get_name(), content=str(told), raw_input=named, raw_output=told)


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = to_jsonable_python(dict(arguments), fallback=str)
    return made


def _altered(tool: Any, told: Mapping[str, Any]) -> Any:
    made = copy.copy(tool)
    metadata = copy.copy(tool.metadata)
    metadata.description = str(told.get("description", ""))
    if isinstance(made, FunctionTool):
        made._metadata = metadata
    return made
