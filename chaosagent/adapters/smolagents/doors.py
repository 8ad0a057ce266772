"""The doors of one run for agents of smolagents."""

from __future__ import annotations

import copy
import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from smolagents import CodeAgent, LocalPythonExecutor, MultiStepAgent, ToolCallingAgent
from smolagents.agents import ToolOutput
from smolagents.local_python_executor import ExecutionTimeoutError
from smolagents.memory import CallbackRegistry
from smolagents.models import ChatMessage
from smolagents.monitoring import Monitor
from smolagents.utils import AgentError

from chaosagent.adapters.core.calls import answer_from, calls_of
from chaosagent.adapters.core.client_errors import errors_of, package_of
from chaosagent.adapters.core.crossings import Crossings, meant_for
from chaosagent.adapters.core.sent import SentArguments
from chaosagent.adapters.core.threads import Threads
from chaosagent.adapters.doors import Tools, refuse_twice
from chaosagent.adapters.smolagents.messages import (
    answer_of,
    describe_tool,
    message_of,
    messages_of,
    plain_messages,
    plain_options,
    tools_of,
)
from chaosagent.adapters.smolagents.parts import DoorAgent, DoorModel, Request, door_tool
from chaosagent.canonical import Plain, digest_of
from chaosagent.errors import TargetError
from chaosagent.targets.call_handler import Handler
from chaosagent.targets.target import Run

UNNAMED = "agent"
FINAL_ANSWER = "final_answer"


class AgentFailure(Exception):
    """Stands for an error of an agent of smolagents where that crosses: its own classes want a logger to be made."""


class AgentDoors:
    """The doors of one run, and a copy of an agent that uses them. What was given stays as it is.

    Args:
        run: The run.
        agent: An agent.
        tools: What is known about the tools.

    Attributes:
        agent: The copy.

    Raises:
        TargetError: See `through_doors`.
        UnknownNameError: See `through_doors`.
    """

    def __init__(self, run: Run, agent: Any, tools: Tools) -> None:
        self.run = run
        self._crossings = Crossings(run, tools, (AgentFailure,))
        self._threads = Threads(
            "smolagents", "Run the agent in a thread: `await asyncio.to_thread(doors.agent.run, ...)`."
        )
        self._names: list[str] = []
        self._tool_names: list[str] = []
        self.agent = self._agent(agent)
        tools.check(self._tool_names)

    def _agent(self, agent: Any) -> Any:
        if not isinstance(agent, MultiStepAgent):
            raise TargetError(
                f"{type(agent).__name__} is no agent of smolagents. Give through_doors the one that is run."
            )
        name = agent.name or UNNAMED
        refuse_twice("agents", [*self._names, name])
        self._names.append(name)
        calls = _Calls(name)
        made = copy.copy(agent)
        made.model = DoorModel(agent.model, functools.partial(self._ask, calls), calls.found)
        made.tools = {key: self._tool(tool, calls) for key, tool in agent.tools.items()}
        made.managed_agents = {
            key: DoorAgent(self._agent(managed), functools.partial(self._hand_over, calls))
            for key, managed in agent.managed_agents.items()
        }
        made.memory, made.state = copy.copy(agent.memory), dict(agent.state)
        made.memory.steps = list(agent.memory.steps)
        made.monitor = Monitor(made.model, made.logger)
        made.step_callbacks = _with_monitor(agent, made.monitor)
        if isinstance(agent, ToolCallingAgent):
            made.process_tool_calls = functools.partial(_one_by_one, made, calls)
        if isinstance(agent, CodeAgent):
            made.python_executor = _executor(agent, self._now)
        return made

    def _tool(self, tool: Any, calls: _Calls) -> Any:
        if tool.name == FINAL_ANSWER:  # part of the loop, and not of the world
            return tool
        self._tool_names.append(tool.name)
        return door_tool(tool, functools.partial(self._call, calls))

    def _now(self) -> float:
        return self.run.clock.now()

    # ------------------------------------------------------------------ crossings

    def _ask(self, calls: _Calls, *asked: Any) -> ChatMessage:
        message: ChatMessage = self._threads.now(lambda: self._asked(calls, *asked))
        return message

    async def _asked(
        self,
        calls: _Calls,
        model: Any,
        messages: Sequence[Any],
        tools: Sequence[Any],
        options: Mapping[str, Any],
        ask: Request,
    ) -> ChatMessage:
        """Ask a model through its door."""
        crossings = self._crossings
        errors = errors_of(model) if package_of(model) else errors_of(getattr(model, "client", None))
        with crossings.acting(calls.agent):
            shown = await self._toolbox(calls.agent, tools) if tools else []
            request: dict[str, Plain] = {"messages": plain_messages(messages), **plain_options(options)}
            if tools:
                told_of = [describe_tool(tool) for tool in shown]
                request |= {"tools": [tool["name"] for tool in told_of], "described": digest_of(told_of)}
            sent = SentArguments(request)

            async def world(given: dict[str, Any]) -> Plain:
                is_altered = "messages" in sent.changed(given)
                wanted = messages_of(given.get("messages"), messages) if is_altered else messages
                left = [tool for tool in shown if tool.name in given.get("tools", ())]
                return answer_of(await self._threads.apart(lambda: ask(wanted, left)))

            told = await crossings.model(_model_name(model), request, world, errors=errors)
            listed = calls_of(answer_from(told))
            ids = calls.asked(len(listed))
            crossings.provenance.of_model(calls.agent, calls.read(), ids)
        return message_of(told, ids[: len(listed)])

    async def _toolbox(self, agent: str, tools: Sequence[Any]) -> list[Any]:
        return tools_of(await self._crossings.toolbox.listed(agent, [describe_tool(tool) for tool in tools]), tools)

    def _call(self, calls: _Calls, name: str, arguments: dict[str, Any], call: Callable[[Any], Plain]) -> Any:
        """Call a tool through its door."""
        cross = functools.partial(self._crossings.tool, calls.agent, name, arguments, self._apart(call))
        return self._answered(calls, cross)

    def _hand_over(self, calls: _Calls, name: str, task: dict[str, Any], call: Callable[[Any], Plain]) -> Any:
        """Hand a task over to a managed agent."""

        def run(given: Any) -> Plain:
            try:
                return call(given)
            except AgentError as error:
                raise AgentFailure(str(error)) from error

        deliver = meant_for(name, self._apart(run))
        cross = functools.partial(self._crossings.hand_over, calls.agent, name, task, deliver)
        return self._answered(calls, cross)

    def _answered(self, calls: _Calls, cross: Callable[..., Awaitable[Any]]) -> Any:
        told = self._threads.now(lambda: cross(call_id=calls.current))
        calls.answered()
        return told

    def _apart(self, call: Callable[[Any], Plain]) -> Handler:
        async def world(given: dict[str, Any]) -> Any:
            return await self._threads.apart(lambda: call(given))

        return world


class _Calls:
    """The calls of tools of one agent.

    Attributes:
        agent: Its name.
        current: The id of the call that is being made.
    """

    def __init__(self, agent: str) -> None:
        self.agent, self.current = agent, ""
        self._count = 0
        self._answered: list[str] = []

    def asked(self, count: int) -> list[str]:
        """Return ids for the calls in an answer of the model; one also where there are none, for code that it wrote."""
        found = [f"call-{self._count + place:04}" for place in range(1, max(count, 1) + 1)]
        self._count += len(found)
        self.current = found[0]
        return found

    def found(self, count: int) -> list[str]:
        """Return ids for the calls that were found in the text of the last answer."""
        return [self.current, *(self.asked(count - 1) if count > 1 else ())][:count]

    def answered(self) -> None:
        """Remember that the current call has just been answered."""
        self._answered.append(self.current)

    def read(self) -> list[str]:
        """Return the ids of the calls that were answered since the model was asked last."""
        found, self._answered = list(dict.fromkeys(self._answered)), []
        return found


class _Executor(LocalPythonExecutor):  # type: ignore[misc]  # smolagents is not in every checkout
    """Runs code in the thread that asks, and counts its time limit by the clock of the run.

    As in smolagents, code that takes longer is not stopped: it runs to its end, and then the agent is told that it took
    too long.
    """

    now: Callable[[], float]
    timeout_seconds: float | None

    def __call__(self, code_action: str) -> Any:
        limit, began = self.timeout_seconds, self.now()
        self.timeout_seconds = None
        output, error = None, None
        try:
            output = super().__call__(code_action)
        except Exception as raised:  # told below, unless it came too late
            error = raised
        finally:
            self.timeout_seconds = limit
        if limit is not None and self.now() - began > limit:
            raise ExecutionTimeoutError(f"Code execution exceeded the maximum execution time of {limit} seconds")
        if error is not None:
            raise error
        return output


def _executor(agent: Any, now: Callable[[], float]) -> Any:
    """Return an executor of an agent's own, without what others have run in it.

    Raises:
        TargetError: The agent's code runs somewhere else, where no door is.
    """
    given = agent.python_executor
    if type(given) is not LocalPythonExecutor:
        raise TargetError(
            f"the agent {agent.name or UNNAMED!r} runs its code in a {type(given).__name__}, where tools cannot cross "
            "doors. Use the local executor (`executor_type='local'`) for the search."
        )
    made = copy.copy(given)
    made.__class__ = _Executor
    made.now, made.state, made.custom_tools = now, dict(given.state), dict(given.custom_tools)
    return made


def _one_by_one(agent: Any, calls: _Calls, chat_message: Any, memory_step: Any) -> Iterator[Any]:
    """Make the calls of one answer one after the other, as smolagents does it in threads, where the order is chance.

    As there, all are made, also where one fails or is the final answer, and the agent is told afterwards; the first
    failure is raised then, and what the others said gets lost.
    """
    process = type(agent).process_tool_calls
    observations, tool_calls, outputs = [], [], []
    failed: Exception | None = None
    for one in chat_message.tool_calls:
        calls.current = one.id
        single = copy.copy(chat_message)
        single.tool_calls, memory_step.observations = [one], None
        try:
            for told in process(agent, single, memory_step):
                if not isinstance(told, ToolOutput):
                    yield told
                elif failed is None:
                    outputs.append(told)
        except AgentError as error:
            failed = failed or error
        else:
            tool_calls += memory_step.tool_calls
            observations.append(memory_step.observations)
        finally:
            memory_step.tool_calls, memory_step.observations = None, None
    yield from outputs
    if failed is not None:
        raise failed
    memory_step.tool_calls, memory_step.observations = tool_calls, "\n".join(observations)


def _with_monitor(agent: Any, monitor: Any) -> CallbackRegistry:
    """Return an agent's callbacks with another monitor in the place of its own."""
    made = CallbackRegistry()
    for kind, callbacks in agent.step_callbacks._callbacks.items():
        for callback in callbacks:
            is_own = getattr(callback, "__self__", None) is agent.monitor
            made.register(kind, monitor.update_metrics if is_own else callback)
    return made


def _model_name(model: Any) -> str:
    name = getattr(model, "model_id", None)
    return name if isinstance(name, str) and name else type(model).__name__
