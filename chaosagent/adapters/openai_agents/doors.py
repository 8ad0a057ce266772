"""The doors that an agent of the OpenAI Agents SDK calls its models, tools, session and hand-offs through."""

from __future__ import annotations

import copy
import functools
import json
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import agents
import agents.tool
from agents import Agent, FunctionTool, Model, ModelProvider, UserError
from pydantic import PydanticUserError

from chaosagent.adapters.core.checkpointed import Checkpointed
from chaosagent.adapters.core.copies import Copies
from chaosagent.adapters.core.crossings import HANDOFFS, Crossings
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.adapters.doors import Tools, clean_name, refuse_twice
from chaosagent.adapters.openai_agents.answers import Names, answer_of, as_plain, response_of
from chaosagent.adapters.openai_agents.errors import ERRORS
from chaosagent.adapters.openai_agents.internals import check_internals
from chaosagent.adapters.openai_agents.models import DoorModel, NamedModel, model_name
from chaosagent.adapters.openai_agents.tools import (
    arguments_text,
    defaults_of,
    describe_tool,
    description,
    parse_json,
    rebuilt,
    result_of,
    shown,
)
from chaosagent.canonical import Plain, digest_of, plain, plain_mapping
from chaosagent.errors import TargetError
from chaosagent.targets.call_handler import is_behind
from chaosagent.targets.target import Run

_SERVER_IDS = ("previous_response_id", "conversation_id")
_SDK_ERRORS = (agents.ModelBehaviorError, agents.UserError, agents.ToolTimeoutError, agents.MaxTurnsExceeded)
_LOGGER = logging.getLogger(__name__)


class AgentDoors(Checkpointed):
    """The doors of one run, and copies of its agents that use them. The agents that were given stay as they are.

    Args:
        run: The run.
        tools: What is known about the tools.
        provider: Where models come from that are given by name.
    """

    def __init__(self, run: Run, tools: Tools, provider: ModelProvider) -> None:
        check_internals()
        self.run, self.provider, self.names = run, provider, Names()
        self._crossings = Crossings(run, tools, _SDK_ERRORS, asked_relation="requested_by")
        self.doors = self._crossings.doors
        self.tool_names: list[str] = []
        self.has_mcp = False
        self.agents: dict[str, Any] = {}
        self._copies, self._inputs = Copies(), Copies()
        self._input_count = 0
        self._read: set[str] = set()

    def kept(self) -> Plain:
        return [self.names.plain(), self._crossings.provenance.plain(), [*sorted(self._read)]]

    # ------------------------------------------------------------------ agents

    def agent(self, agent: Any) -> Any:
        """Return a copy of an agent, and of all that it may hand over to, that uses the doors.

        Raises:
            TargetError: Two agents, or two tools of an agent, share a name; or an agent that is a tool has no doors.
        """
        known = self._copies.of(agent)
        if known is not None:
            return known
        name = clean_name(agent.name)
        refuse_twice("agents", [*self.agents, name])
        made = self.agents[name] = self._copies.keep(agent, copy.copy(agent))
        self._copies.keep(made, made)
        if isinstance(agent.model, Model):
            made.model = DoorModel(self, agent.model, model_name(agent.model), name)
        else:
            made.model = NamedModel(agent.model, name)
        refuse_twice(f"tools of {agent.name!r}", [tool.name for tool in agent.tools])
        made.tools = [self._tool(tool, name) if isinstance(tool, FunctionTool) else tool for tool in agent.tools]
        made.handoffs = [self._handoff(handoff, made, name) for handoff in agent.handoffs]
        if agent.mcp_servers:
            self.has_mcp = True
            made.get_mcp_tools = functools.partial(self._mcp_tools, made.get_mcp_tools, name)
        return made

    async def _mcp_tools(self, listed: Callable[[Any], Any], agent: str, context: Any) -> list[Any]:
        return [self._tool(tool, agent) for tool in await listed(context)]

    # ------------------------------------------------------------------ tools

    def _tool(self, tool: Any, agent: str) -> Any:
        nested = getattr(tool, "_agent_instance", None)
        if nested is not None and not isinstance(nested.model, DoorModel | NamedModel):
            raise TargetError(
                f"the tool {tool.name!r} runs the agent {nested.name!r}, whose calls cross no doors. Make the tool of "
                f"an agent with doors: through_doors(run, {clean_name(nested.name).lower()}).agent.as_tool(...)."
            )
        self.tool_names.append(tool.name)
        handles = callable(getattr(tool.on_invoke_tool, "__agents_bind_function_tool__", None))
        inner = agents.tool.set_function_tool_failure_error_function(copy.copy(tool), None) if handles else tool

        async def invoke(context: Any, text: str) -> Any:
            return await self._call_tool(inner, agent, context, text)

        made = copy.copy(tool)
        if not handles:
            made.on_invoke_tool = functools.wraps(tool.on_invoke_tool)(invoke)
            return made
        prepare = getattr(tool.on_invoke_tool, "prepare_arguments", None)
        if prepare is not None:
            invoke.__agents_prepare_arguments__ = prepare  # type: ignore[attr-defined]  # what the SDK looks for
        made.on_invoke_tool = agents.tool.with_function_tool_failure_error_handler(invoke, _log_failure)
        return copy.copy(made)  # which tells the invoker whose failures it handles

    async def _call_tool(self, tool: Any, agent: str, context: Any, text: str) -> Any:
        try:
            asked = json.loads(text) if text else {}
        except ValueError:
            asked = None
        if not isinstance(asked, dict):  # no call at all: the SDK's own complaint, which reaches no tool
            return await tool.on_invoke_tool(context, text)
        named = plain_mapping(self.names.value({**defaults_of(tool), **asked}))

        async def handler(arguments: dict[str, Any]) -> Any:
            said = text
            if plain(arguments) != named:
                said = json.dumps(self.names.value_with_ids(arguments))
                if hasattr(context, "_function_tool_arguments"):
                    context._function_tool_arguments = None  # they were read from the text that the model wrote
            return result_of(await tool.on_invoke_tool(context, said), tool)

        call_id = getattr(context, "tool_call_id", "")
        told = await self._crossings.tool(agent, tool.name, named, handler, call_id=call_id)
        return rebuilt(told, tool)

    # ------------------------------------------------------------------ hand-offs

    def _handoff(self, handoff: Any, sender: Any, agent: str) -> Any:
        reference = getattr(handoff, "_agent_ref", None)
        receiver = handoff if isinstance(handoff, Agent) else None if reference is None else reference()
        copied = None if receiver is None else self.agent(receiver)
        if isinstance(handoff, Agent):
            made = agents.handoff(copied)
            invoke = made.on_invoke_handoff
        else:
            made, invoke = copy.copy(handoff), handoff.on_invoke_handoff
            made._agent_ref = reference if copied is None else weakref.ref(copied)

        async def crossing(context: Any, text: str | None = None) -> Any:
            return await self._hand_over(invoke, made, (sender, agent), context, text)

        made.on_invoke_handoff = crossing
        return made

    async def _hand_over(self, invoke: Any, handoff: Any, sender: Any, context: Any, text: str | None) -> Any:
        body = parse_json(text)

        async def handler(arguments: dict[str, Any]) -> str:
            if arguments.get("to") != clean_name(handoff.agent_name):
                return self._known(str(arguments.get("to")))
            altered = plain(arguments.get("body"))
            reached = await invoke(context, text if altered == plain(body) else arguments_text(altered))
            self.agent(reached)
            return clean_name(reached.name)

        with self.doors.acting(sender[1]):
            told = await self.doors.message(HANDOFFS, clean_name(handoff.agent_name), body, handler)
        return sender[0] if told is None else self.agents[self._known(str(told))]

    def _known(self, name: str) -> str:
        if name not in self.agents:
            raise UserError(
                f"hand-off to {name!r}, an agent that is not there. Known: {', '.join(sorted(self.agents))}"
            )
        return name

    # ------------------------------------------------------------------ models

    async def ask(self, model: str, agent: str, call: Mapping[str, Any], handler: Callable[[Any], Any]) -> Any:
        """Ask a model and return the answer as the SDK has it.

        Args:
            model: Its name.
            agent: Who asks; empty where the SDK does not tell.
            call: The arguments of `Model.get_response`, by name.
            handler: Asks the model itself, with such arguments.
        """
        with self.doors.acting(agent):
            return await self._ask(model, agent, call, handler)

    async def _ask(self, model: str, agent: str, call: Mapping[str, Any], handler: Callable[[Any], Any]) -> Any:
        described = await self._describe(agent, call["tools"], call["handoffs"])
        request = self._request(call, described.digest)

        async def world(arguments: dict[str, Any]) -> Any:
            changed = {**call, "tools": described.shown}
            if plain(arguments.get("messages")) != plain(request["messages"]):
                changed |= self._as_asked(arguments.get("messages"))
            for key in _SERVER_IDS:
                if arguments.get(key) is not None:
                    changed[key] = self.names.id_of(str(arguments[key]))
            return answer_of(await handler(changed), self.names)

        answer = await self._crossings.model(model, request, world, errors=ERRORS, call=self._call_of(call))
        response = response_of(answer, self.names)
        self._link_model(agent, call, response)
        return response

    def _call_of(self, call: Mapping[str, Any]) -> str:
        """Return what identifies a request: when the SDK tries again, it has the same list of items, itself."""
        given = call["input"]
        known: str | None = self._inputs.of(given)
        if known is None:
            known = self._inputs.keep(given, str(self._input_count))
            self._input_count += 1
        return known

    def _request(self, call: Mapping[str, Any], described: str) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if call["system_instructions"]:
            messages.append({"role": "system", "content": call["system_instructions"]})
        given = call["input"]
        if isinstance(given, str):
            messages.append({"role": "user", "content": given})
        else:
            messages += [self.names.item_of_agent(as_plain(item)) for item in given]
        schema = call["output_schema"]
        request = {
            "messages": messages,
            "tools": [tool.name for tool in call["tools"]] + [handoff.tool_name for handoff in call["handoffs"]],
            "described": described,
            "settings": {key: value for key, value in _settings(call["model_settings"]).items() if value is not None},
            "output": None if schema is None or schema.is_plain_text() else digest_of(schema.json_schema()),
            "prompt": call["prompt"],
        }
        for key in _SERVER_IDS:
            if call[key] is not None:
                request[key] = self.names.of_agent(call[key])
        return {key: value for key, value in request.items() if value is not None}

    def _as_asked(self, messages: Any) -> dict[str, Any]:
        """Return altered messages as the arguments of a model."""
        listed = messages if isinstance(messages, list) else []
        items = [self.names.item(message) for message in listed if isinstance(message, Mapping)]
        told = [item for item in items if item.get("role") == "system" and "type" not in item]
        rest = [item for item in items if item not in told]
        return {"system_instructions": "\n".join(str(item["content"]) for item in told) or None, "input": rest}

    def _link_model(self, agent: str, call: Mapping[str, Any], response: Any) -> None:
        """Link an answer to what was read for it: each result of a tool once, by whoever reads it first."""
        if is_behind():
            return
        outputs = [item["call_id"] for item in call["input"] if _is_output(item) and "call_id" in item]
        read = [call_id for call_id in outputs if call_id not in self._read]
        asked = [item.call_id for item in response.output if getattr(item, "call_id", None)]
        self._crossings.provenance.of_model(agent, read, asked)
        self._read.update(read)

    async def _describe(self, agent: str, tools: Sequence[Any], handoffs: Sequence[Any]) -> _Described:
        """Return the tools with the descriptions that the model gets; the SDK still calls the original tools.

        An agent is told once of equal tools: those of an MCP server are other objects in every turn.
        """
        functions = {tool.name: tool for tool in tools if isinstance(tool, FunctionTool)}
        given = [describe_tool(tool) for tool in functions.values()]
        key = description(tools, handoffs)
        listed = await self._crossings.toolbox.listed(agent, given, door="agents", key=key) if given else given
        seen = list(tools)
        if plain(listed) != plain(given):
            seen = as_listed(listed, list(functions.values()), describe_tool, shown)
            seen += [tool for tool in tools if not isinstance(tool, FunctionTool)]
        return _Described(seen, description(seen, handoffs))


class _Described(NamedTuple):
    """The descriptions of tools and hand-offs that a model gets, and their digest."""

    shown: list[Any]
    digest: str


def _log_failure(tool: Any, error: Exception, text: str) -> None:  # noqa: ARG001  # arguments may be secret
    _LOGGER.debug("Tool %s failed: %s", tool.name, type(error).__name__)


def _is_output(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "function_call_output"


def _settings(settings: Any) -> dict[str, Any]:
    try:
        return dict(settings.to_json_dict())
    except (PydanticUserError, ValueError, TypeError):  # callables among extra arguments
        return {"temperature": settings.temperature, "tool_choice": str(settings.tool_choice)}
