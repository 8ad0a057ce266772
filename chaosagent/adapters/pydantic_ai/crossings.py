"""The doors of one run for agents of pydantic-ai, as a capability of theirs; see `chaosagent.adapters.pydantic_ai`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from contextvars import ContextVar, Token
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, cast

from pydantic_ai import Agent, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import ConversationStore
from pydantic_ai.toolsets import FunctionToolset
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.checkpointed import Checkpointed
from chaosagent.adapters.core.crossings import Crossings
from chaosagent.adapters.core.framework import check_loop
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.adapters.doors import Tools, refuse_twice
from chaosagent.adapters.pydantic_ai.agent_run import AgentRun
from chaosagent.adapters.pydantic_ai.errors import OWN
from chaosagent.adapters.pydantic_ai.given_doors import given_doors
from chaosagent.adapters.pydantic_ai.model import behind_door
from chaosagent.adapters.pydantic_ai.store import StoreBehindDoor
from chaosagent.adapters.pydantic_ai.tools import NamedTools, ToolsBehindDoors
from chaosagent.canonical import Plain
from chaosagent.errors import TargetError
from chaosagent.event_loop.thread_jobs import ThreadPool
from chaosagent.event_loop.virtual_time import VirtualLoop
from chaosagent.targets.call_handler import is_behind
from chaosagent.targets.target import Run

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_ACTIVE: ContextVar[AgentDoors | None] = ContextVar("chaosagent_pydantic_ai", default=None)


class AgentDoors(Checkpointed):
    """What `through_doors` returns: a context manager in which `doors` gives agents the doors of a run.

    Args:
        run: The run.
        agents: All agents.
        tools: What is known about their tools.
        handoffs: Tools that hand on to another agent.

    Raises:
        TargetError: See `through_doors`.
        UnknownNameError: See `through_doors`.
    """

    def __init__(self, run: Run, agents: Sequence[Any], tools: Tools, handoffs: Sequence[str]) -> None:
        self._without_doors = _without_doors(agents)
        _check_tools(agents, tools, handoffs)
        check_loop("pydantic-ai")
        self.run, self.handoffs = run, frozenset(handoffs)
        self.crossings = Crossings(run, tools, OWN)
        self.doors = self.crossings.doors
        self.threads = InTurn()
        self.at_work: dict[str, OneAgentRun] = {}
        self._token: Token[AgentDoors | None] | None = None
        self._given = ExitStack()

    def kept(self) -> Plain:
        return {name: agent_run.kept for name, agent_run in self.at_work.items()}

    def __enter__(self) -> AgentDoors:
        self._token = _ACTIVE.set(self)
        self._given.enter_context(given_doors(self._without_doors, DOORS))
        self.threads = InTurn()  # those of an earlier block have ended with it
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _ACTIVE.reset(self._token)
        self._given.close()
        self.threads.shutdown()

    def memory(self, store: ConversationStore, name: str = "conversations") -> ConversationStore:
        """Return a store of conversations behind the door `memory:<name>`."""
        return StoreBehindDoor(self.doors, store, name)


class Doors(AbstractCapability[Any]):  # type: ignore[misc]  # pydantic-ai is not in every checkout
    """The capability that agents are given once: what it does depends on the run that is going on."""

    async def for_run(self, ctx: Any) -> AbstractCapability[Any]:
        """Give each run of an agent an instance of its own; outside of our runs nothing happens."""
        active = _ACTIVE.get()
        if active is None:
            return self
        return OneAgentRun(active, (ctx.agent.name if ctx.agent is not None else None) or "agent")

    def get_run_clock(self) -> Callable[[], datetime] | None:
        """Count the time limit of an agent's run by the clock of ours."""
        active = _ACTIVE.get()
        if active is None:
            return None
        clock = active.run.clock
        return lambda: _BEGINNING + timedelta(seconds=clock.now())


DOORS = Doors()


class OneAgentRun(AbstractCapability[Any]):  # type: ignore[misc]  # pydantic-ai is not in every checkout
    """The capability of one run of one agent."""

    def __init__(self, owner: AgentDoors, agent: str) -> None:
        self._crossings = owner.crossings.of_one_agent()
        self._agent_run = AgentRun(self._crossings, owner.handoffs, agent)
        self._threads = owner.threads
        self._first: dict[str, dict[str, Plain]] | None = None
        self._step: Plain = None
        if not is_behind():
            owner.at_work[agent] = self

    @property
    def kept(self) -> Plain:
        """What the framework keeps of this run beside messages, and what is kept here, for checkpoints."""
        return [self._step, self._crossings.provenance.plain()]

    def get_wrapper_model(self, model: Any) -> Any:
        """Put the model behind its door."""
        return behind_door(model, self._agent_run)

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """Put every tool behind its door, as near to its function as the framework lets in."""
        return NamedTools(toolset.visit_and_replace(lambda leaf: ToolsBehindDoors(leaf, self._agent_run)))

    async def prepare_tools(self, ctx: Any, tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """Ask for the list of tools through its door, once; what was changed there stays so for the run."""
        agent = self._agent_run.agent
        if self._crossings.doors.takes_checkpoints:
            self._step = cast("Plain", to_jsonable_python([ctx.run_step, ctx.retries, ctx.usage]))
        if self._first is None:
            self._first = {tool.name: _plain_tool(tool) for tool in tool_defs}
        first = self._first
        with self._crossings.acting(agent):
            told = await self._crossings.toolbox.listed(agent, list(first.values()), key="run")
        new = [tool for tool in tool_defs if tool.name not in first]  # the list could not have them
        known = [tool for tool in tool_defs if tool.name in first]
        return [*as_listed(told, known, lambda tool: first[tool.name], _altered), *new]

    async def wrap_run(self, ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ARG002
        """In virtual time, run synchronous tools in a thread that the loop waits for."""
        if not isinstance(asyncio.get_running_loop(), VirtualLoop):
            return await handler()
        with Agent.using_thread_executor(self._threads):
            return await handler()


class InTurn(Executor):
    """Runs functions in one thread, one after the other; what that thread itself hands over, it runs at once."""

    def __init__(self) -> None:
        self._pool = ThreadPool(1)
        self._thread: int | None = None
        self._last: Future[Any] | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor`."""
        if threading.get_ident() != self._thread:
            self._last = self._pool.submit(self._call, fn, args, kwargs)
            return self._last
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # whoever awaits it is told
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """End the thread; what it still waits for is the loop's to give, so that the loop must not wait for it."""
        if self._last is None or self._last.done():
            self._pool.close()
        else:
            threading.Thread(target=self._pool.close, daemon=True).start()

    def _call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._thread = threading.get_ident()
        return function(*args, **kwargs)


def _without_doors(agents: Sequence[Any]) -> list[Any]:
    """Return the agents that have no doors of their own.

    Raises:
        TargetError: There is no agent, two share a name, or one has two doors.
    """
    if not agents:
        raise TargetError("through_doors(run, agents): there is no agent, so that nothing would cross. Name them all.")
    refuse_twice("agents", [agent.name for agent in agents if agent.name is not None])
    without: list[Any] = []
    for agent in agents:
        held: list[Any] = []
        agent.root_capability.apply(held.append)
        count = sum(isinstance(capability, Doors) for capability in held)
        if count > 1:
            raise TargetError(
                f"agent {agent.name!r} has two doors: give it `capabilities=[doors]` once, or not at all."
            )
        if not count:
            without.append(agent)
    return without


def _check_tools(agents: Sequence[Any], tools: Tools, handoffs: Iterable[str]) -> None:
    """Refuse what is said of tools that no agent has, as far as they are known before a run."""
    known: list[str] = []
    for agent in agents:
        for toolset in agent.toolsets:
            if not isinstance(toolset, FunctionToolset):
                leaves: list[Any] = []
                toolset.apply(leaves.append)
                if leaves != [] and not all(isinstance(leaf, FunctionToolset) and not leaf.tools for leaf in leaves):
                    return
                continue
            known.extend(toolset.tools)
    tools.check(known, handoffs=handoffs)


def _plain_tool(tool: ToolDefinition) -> dict[str, Plain]:
    return {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}


def _altered(tool: ToolDefinition, told: Mapping[str, Any]) -> ToolDefinition:
    return replace(tool, description=told.get("description"), parameters_json_schema=told.get("parameters") or {})
