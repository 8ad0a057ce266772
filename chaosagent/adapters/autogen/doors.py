"""The doors of one run for agents and teams of AutoGen."""

from __future__ import annotations

import asyncio
import copy
import functools
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from autogen_agentchat.base import ChatAgent, Response
from autogen_agentchat.messages import HandoffMessage, TextMessage
from autogen_agentchat.teams import BaseGroupChat
from autogen_core.memory import Memory
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient, CreateResult
from autogen_core.tools import StaticWorkbench, Workbench

from chaosagent.adapters.autogen.memory import DoorMemory, memory_name, with_own_messages
from chaosagent.adapters.autogen.messages import (
    answer_of,
    call_ids,
    describe_tool,
    messages_of,
    plain_messages,
    plain_options,
    result_of,
    tools_of,
)
from chaosagent.adapters.autogen.model import DoorClient, Request, model_name
from chaosagent.adapters.autogen.teams import copied_team, stop, without_trace
from chaosagent.adapters.autogen.tools import DoorTool, DoorWorkbench, runs_agent
from chaosagent.adapters.core.client_errors import errors_of
from chaosagent.adapters.core.crossings import HANDOFFS, Crossings, meant_for
from chaosagent.adapters.core.framework import check_loop
from chaosagent.adapters.core.sent import SentArguments
from chaosagent.adapters.doors import Tools, refuse_twice
from chaosagent.canonical import Plain, digest_of, plain
from chaosagent.errors import TargetError
from chaosagent.targets.call_handler import Handler
from chaosagent.targets.target import Run


class AgentDoors:
    """The doors of one run, and a copy of an agent or a team that uses them. What was given stays as it is.

    Args:
        run: The run.
        runner: An agent or a team.
        tools: What is known about the tools.

    Attributes:
        runner: The copy, with `run` and `run_stream`.

    Raises:
        TargetError: See `through_doors`.
        UnknownNameError: See `through_doors`.
    """

    def __init__(self, run: Run, runner: Any, tools: Tools) -> None:
        check_loop("AutoGen")
        self._crossings = Crossings(run, tools)
        self._turn = asyncio.Lock() if run.clock.of_study else None
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._names: list[str] = []
        self._memories: list[tuple[Any, str, str]] = []
        self._teams: list[Any] = []
        self._tool_names: list[str] = []
        self._is_open = self._has_doors = False
        self._at_work: dict[str, asyncio.Task[Any] | None] = {}
        self._ended: BaseException | None = None
        self._given = runner
        self.runner = self._runner(runner)
        if not self._has_doors:
            raise TargetError(
                f"{runner.name!r} has neither a model client nor tools that AutoGen's own agents have, so that nothing "
                "would cross. Put its parts behind doors where it is made: doors of another agent have `model(client)` "
                "and `memory(memory)`."
            )
        if not self._is_open:
            tools.check(self._tool_names)

    def renewed(self) -> Any:
        """Return another copy, which begins anew: a team of AutoGen that has failed works no more, not even reset."""
        self._copies.clear()
        self._names.clear()
        return self._runner(self._given)

    def model(self, client: ChatCompletionClient, agent: str = "") -> Any:
        """Return a model client behind the door `model:<model>`, for an agent or for nobody in particular."""
        if isinstance(client, DoorClient):
            return client
        self._has_doors = True
        return DoorClient(client, functools.partial(self._ask, agent))

    def memory(self, memory: Memory, agent: str = "") -> Any:
        """Return a memory behind the door `memory:<name>`, for an agent or for nobody in particular.

        The memories of agents are behind their doors already: this is for a target that writes into one. There the
        agent acts whose memory it is, the first one of several.
        """
        if isinstance(memory, DoorMemory):
            return memory
        self._has_doors = True
        name, owner = self._memory_door(memory, agent)
        agent = agent or owner

        async def cross(operation: str, request: Mapping[str, Any], handler: Handler) -> Any:
            with self._crossings.acting(agent):
                return await self._crossings.doors.memory(name, operation, request, handler)

        return DoorMemory(memory, cross, name)

    def _memory_door(self, memory: Any, agent: str) -> tuple[str, str]:
        """Return the name of a memory's door, and whose it is; of several with one name the others are numbered."""
        for known, name, owner in self._memories:
            if known is memory:
                return name, owner
        name = memory_name(memory)
        others = sum(memory_name(known) == name for known, _, _ in self._memories)
        self._memories.append((memory, f"{name}-{others + 1}" if others else name, agent))
        return self._memories[-1][1:]

    # ------------------------------------------------------------------ copies of agents and teams

    def _runner(self, given: Any) -> Any:
        known = self._copies.get(id(given))
        if known is not None:
            return known[1]
        if isinstance(given, BaseGroupChat):
            return self._team(given)
        if not isinstance(given, ChatAgent):
            raise TargetError(
                f"{type(given).__name__} is neither an agent nor a team of autogen_agentchat. Give through_doors the "
                "agent or the team that is run."
            )
        return self._agent(given)

    def _team(self, team: Any) -> Any:
        made = copied_team(team, [self._runner(participant) for participant in team._participants])
        self._copies[id(team)] = (team, made)
        self._teams.append(made)
        if isinstance(getattr(team, "_model_client", None), ChatCompletionClient):
            made._model_client = self.model(team._model_client, team.name)
        made.run_stream = functools.partial(self._team_stream, made)
        return made

    def _agent(self, agent: Any) -> Any:
        refuse_twice("agents", [*self._names, agent.name])
        self._names.append(agent.name)
        made = copy.copy(agent)
        self._copies[id(agent)] = (agent, made)
        had = vars(agent)
        if isinstance(had.get("_model_client"), ChatCompletionClient):
            made._model_client = self.model(agent._model_client, agent.name)
        if isinstance(had.get("_model_context"), ChatCompletionContext):
            made._model_context = with_own_messages(agent._model_context)
        if had.get("_memory"):
            made._memory = [self.memory(memory, agent.name) for memory in agent._memory]
        if isinstance(had.get("_workbench"), list | tuple):
            made._workbench = [self._workbench(workbench, agent.name) for workbench in agent._workbench]
        for inner in ("_wrapped_agent", "_team"):
            if had.get(inner) is not None:
                setattr(made, inner, self._runner(had[inner]))
        made.on_messages_stream = functools.partial(self._agent_stream, made)
        return made

    def _workbench(self, workbench: Workbench, agent: str) -> Any:
        self._has_doors = True
        if not isinstance(workbench, StaticWorkbench):
            self._is_open = True
            return DoorWorkbench(workbench, functools.partial(self._call, agent))
        made = copy.copy(workbench)
        made._tools = [self._tool(tool, agent) for tool in workbench._tools]
        return made

    def _tool(self, tool: Any, agent: str) -> Any:
        self._tool_names.append(tool.name)
        if not runs_agent(tool):
            return DoorTool(tool, functools.partial(self._call, agent), self._turn)
        made = copy.copy(tool)
        made._task_runner = self._runner(tool._task_runner)
        return DoorTool(made, functools.partial(self._hand_on, agent), None)

    # ------------------------------------------------------------------ crossings

    async def _ask(
        self,
        agent: str,
        client: Any,
        messages: Sequence[Any],
        tools: Sequence[Any],
        options: Mapping[str, Any],
        ask: Request,
    ) -> CreateResult:
        """Ask a model through its door."""
        crossings = self._crossings
        with crossings.acting(agent):
            shown = await self._toolbox(agent, tools) if tools else []
            request: dict[str, Plain] = {"messages": plain_messages(messages), **plain_options(options)}
            if tools:
                told_of = [describe_tool(tool) for tool in shown]
                request |= {"tools": [tool["name"] for tool in told_of], "described": digest_of(told_of)}
            sent = SentArguments(request)

            async def world(given: dict[str, Any]) -> Plain:
                asked = messages_of(given.get("messages")) if "messages" in sent.changed(given) else messages
                left = [tool for tool in shown if describe_tool(tool)["name"] in given.get("tools", ())]
                return answer_of(await ask(asked, left))

            told = await crossings.model(model_name(client), request, world, errors=errors_of(client))
            result = result_of(told, messages)
            calls = () if isinstance(result.content, str) else result.content
            crossings.provenance.of_model(agent, call_ids(messages)[1], [call.id for call in calls])
        return result

    async def _toolbox(self, agent: str, tools: Sequence[Any]) -> list[Any]:
        told = await self._crossings.toolbox.listed(agent or "team", [describe_tool(tool) for tool in tools])
        return tools_of(told, tools)

    async def _call(self, agent: str, name: str, call_id: str, arguments: dict[str, Any], handler: Handler) -> Any:
        """Call a tool through its door."""
        with self._waking(agent):
            return await self._crossings.tool(agent, name, arguments, handler, call_id=call_id)

    async def _hand_on(self, agent: str, name: str, call_id: str, arguments: dict[str, Any], handler: Handler) -> Any:
        """Have another agent do something, by a tool that is that agent."""
        with self._waking(agent):
            return await self._crossings.hand_over(agent, name, arguments, meant_for(name, handler), call_id=call_id)

    @contextmanager
    def _waking(self, agent: str) -> Iterator[None]:
        """Wake an agent whose call of a tool was ended by the run: AutoGen would wait for its answer for ever."""
        try:
            yield
        except (Exception, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as ended:
            self._ended, waiting = ended, self._at_work.get(agent)
            if waiting is not None and waiting is not asyncio.current_task():
                waiting.cancel()
            raise

    # ------------------------------------------------------------------ what agents and teams answer

    async def _agent_stream(
        self, made: Any, messages: Sequence[Any], cancellation_token: Any
    ) -> AsyncGenerator[Any, None]:
        """Have an agent answer; a hand-off in its answer crosses its door."""
        self._at_work[made.name] = asyncio.current_task()
        try:
            async for item in type(made).on_messages_stream(made, messages, cancellation_token):
                if isinstance(item, Response) and isinstance(item.chat_message, HandoffMessage):
                    yield await self._hand_over(made.name, item)
                else:
                    yield item
        except asyncio.CancelledError:
            if self._ended is None:
                raise
            self._stop_teams(self._ended)
            raise self._ended from None
        except (Exception, GeneratorExit):
            raise
        except BaseException as ended:  # by its run, which is over
            self._stop_teams(ended)
            raise

    def _stop_teams(self, ended: BaseException) -> None:
        for team in self._teams:
            stop(team, ended)

    async def _hand_over(self, agent: str, response: Any) -> Any:
        """Send a hand-off; one that gets lost leaves its sender in control."""
        message = response.chat_message
        body = {"content": message.content, "sender": message.source, "context": plain_messages(message.context)}
        sent = plain({"to": message.target, "body": body})
        with self._crossings.acting(agent):
            told = await self._crossings.doors.message(HANDOFFS, message.target, body, _accepted)
        if plain(told) == sent:
            return response
        arrived = told.get("body") if isinstance(told, Mapping) else None
        if not isinstance(arrived, Mapping):
            lost = TextMessage(content="", source=agent)
            return Response(chat_message=lost, inner_messages=response.inner_messages)
        other = HandoffMessage(
            content=str(arrived.get("content") or ""),
            source=str(arrived.get("sender") or ""),
            target=str(told.get("to")),
            context=messages_of(arrived.get("context")),
        )
        return Response(chat_message=other, inner_messages=response.inner_messages)

    async def _team_stream(self, made: Any, **options: Any) -> AsyncGenerator[Any, None]:
        """Have a team work."""
        try:
            async for item in type(made).run_stream(made, **options):
                yield item
        except RuntimeError as error:
            told = without_trace(error)
            if told is error:
                raise
            raise told from None


async def _accepted(given: dict[str, Any]) -> Plain:
    return {"to": given.get("to"), "body": given.get("body")}
