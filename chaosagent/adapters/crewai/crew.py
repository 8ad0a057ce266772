"""A crew with doors: copies of its agents and tasks, and what is pinned in them."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from crewai.agents.agent_builder.utilities.base_token_process import TokenProcess
from crewai.agents.cache.cache_handler import CacheHandler
from crewai.agents.tools_handler import ToolsHandler
from crewai.events.event_bus import crewai_event_bus
from crewai.hooks.dispatch import HookAborted
from crewai.tools.tool_failure import ToolExecutionFailedError
from crewai.utilities.rpm_controller import RPMController
from pydantic import PrivateAttr

from chaosagent.adapters.core.copies import Copies
from chaosagent.adapters.crewai.copies import class_of, named_after, recast
from chaosagent.adapters.crewai.doors import CrewDoors

_QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_VERSION_CHECK": "true"}
"""What CrewAI reads from the environment whenever it is about to tell its makers of a run."""


class CrewCopies:
    """The copies of one crew's agents and tasks, each made once.

    Args:
        doors: Of the run.
    """

    def __init__(self, doors: CrewDoors) -> None:
        self._doors = doors
        self._agents, self._tasks = Copies(), Copies()

    def crew(self, crew: Any) -> Any:
        """Return a copy of a crew that has not begun, with doors."""
        doors = self._doors
        tasks = [self.task(task) for task in crew.tasks]
        made = recast(
            crew,
            _crew_kind(class_of(crew)),
            id=uuid.uuid4(),
            agents=[self.agent(agent) for agent in crew.agents],
            tasks=tasks,
            manager_agent=self.agent(crew.manager_agent),
            **{
                name: doors.model(getattr(crew, name))
                for name in ("manager_llm", "planning_llm", "chat_llm", "function_calling_llm")
            },
            memory=doors.memory(crew.memory),
            knowledge=doors.knowledge(crew.knowledge),
            tracing=False if doors.is_study else crew.tracing,
            usage_metrics=None,
            _memory=doors.memory(crew._memory),
            _task_output_handler=_Forgetful() if doors.is_study else crew._task_output_handler,
            _cache_handler=CacheHandler(),
            _rpm_controller=_rpm(crew, doors),
            _door=doors,
        )
        for agent in made.agents:
            agent.crew = made
        return made

    def agent(self, agent: Any) -> Any:
        """Return the copy of an agent."""
        if agent is None:
            return None
        return self._agents.of(agent) or self._agents.keep(agent, _door_agent(agent, self._doors))

    def task(self, task: Any) -> Any:
        """Return the copy of a task."""
        known = self._tasks.of(task)
        if known is not None:
            return known
        made = recast(
            task,
            _task_kind(class_of(task)),
            id=uuid.uuid4(),
            agent=self.agent(task.agent),
            output=None,
            used_tools=0,
            tools_errors=0,
            delegations=0,
            processed_by_agents=set(),
            retry_count=0,
            _guardrail=self._guardrail(task._guardrail),
            _guardrails=[self._guardrail(one) for one in task._guardrails],
            _guardrail_retry_counts={},
            _door=self._doors,
        )
        self._tasks.keep(task, made)
        if isinstance(task.context, list):
            made.context = [self.task(one) for one in task.context]
        return made

    def _guardrail(self, guardrail: Any) -> Any:
        """Return a guardrail that asks a model with that model's door; another one as it is."""
        if not hasattr(guardrail, "llm") or not hasattr(guardrail, "description"):
            return guardrail
        return type(guardrail)(description=guardrail.description, llm=self._doors.model(guardrail.llm))


def _door_agent(agent: Any, doors: CrewDoors) -> Any:
    handler = None if agent.cache_handler is None else CacheHandler()
    made = recast(
        agent,
        _agent_kind(class_of(agent)),
        id=uuid.uuid4(),
        crew=None,
        agent_executor=None,
        executor_class=_executor_kind(agent.executor_class),
        cache_handler=handler,
        tools_handler=ToolsHandler(cache=handler),
        tools_results=[],
        memory=doors.memory(agent.memory),
        knowledge=doors.knowledge(agent.knowledge),
        _token_process=TokenProcess(),
        _tool_failures=[],
        _last_messages=[],
        _times_executed=0,
        _rpm_controller=_rpm(agent, doors),
        _door=doors,
    )
    for name in ("llm", "function_calling_llm"):
        made.__dict__[name] = doors.model(getattr(agent, name), lambda: str(made.role))
    made._declared_llm = made.llm
    made._overlay_built = None
    return made


def _rpm(owner: Any, doors: CrewDoors) -> Any:
    """Return who counts requests in a minute: nobody in a study, as CrewAI would wait for minutes of real time."""
    known = owner._rpm_controller
    return RPMController(max_rpm=None) if doors.is_study and known is not None else known


class _Forgetful:
    """Stands for the file in which CrewAI keeps what the tasks of its latest crew have answered."""

    def update(self, task_index: int, log: Mapping[str, Any]) -> None:
        """Keep nothing."""

    def reset(self) -> None:
        """Forget nothing."""

    def load(self) -> list[Any]:
        """Return nothing."""
        return []


# ------------------------------------------------------------------ what is different in the copies


@lru_cache(maxsize=64)
def _crew_kind(kind: Any) -> Any:
    class DoorCrew(kind):  # type: ignore[misc]  # what kind of crew is known at run time only
        _door: Any = PrivateAttr(default=None)

        def kickoff(self, *args: Any, **kwargs: Any) -> Any:
            with _quiet(self._door):
                return super().kickoff(*args, **kwargs)

        async def akickoff(self, *args: Any, **kwargs: Any) -> Any:
            akickoff = super().akickoff
            if not self._door.is_virtual:
                with _quiet(self._door):
                    return await akickoff(*args, **kwargs)

            def apart() -> Any:  # it waits for threads of which a loop of virtual time does not know
                with _quiet(self._door):
                    return asyncio.run(akickoff(*args, **kwargs))

            return await asyncio.to_thread(apart)

        def copy(self) -> Any:
            return CrewCopies(self._door).crew(self)

        def _create_manager_agent(self) -> None:
            super()._create_manager_agent()
            crew: Any = self
            if not hasattr(crew.manager_agent, "_door"):
                crew.manager_agent = _door_agent(crew.manager_agent, self._door)
                crew.manager_agent.crew = crew

    return named_after(DoorCrew, kind)


@lru_cache(maxsize=64)
def _agent_kind(kind: Any) -> Any:
    class DoorAgent(kind):  # type: ignore[misc]  # what kind of agent is known at run time only
        _door: Any = PrivateAttr(default=None)

        def create_agent_executor(self, tools: Any = None, task: Any = None) -> None:
            given = list(tools if tools is not None else self.tools or [])
            super().create_agent_executor(self._door.tools(self, given), task)

        def set_knowledge(self, crew_embedder: Any = None) -> None:
            super().set_knowledge(crew_embedder)
            agent: Any = self
            agent.knowledge = self._door.knowledge(agent.knowledge)

        def execute_task(self, task: Any, context: str | None = None, tools: Any = None) -> Any:
            doors, given = self._door, tools or self.tools or []
            with doors.task(self, task) as is_first:
                if is_first:
                    context = doors.threads.now(lambda: doors.begin(self, task, context, given))
                result = super().execute_task(task, context, tools)
                if is_first:
                    doors.finished(self, result)
                return result

        async def aexecute_task(self, task: Any, context: str | None = None, tools: Any = None) -> Any:
            doors, given = self._door, tools or self.tools or []
            with doors.task(self, task) as is_first:
                if is_first:
                    context = await doors.threads.later(lambda: doors.begin(self, task, context, given))
                result = await super().aexecute_task(task, context, tools)
                if is_first:
                    doors.finished(self, result)
                return result

        async def _aexecute_with_timeout(self, task_prompt: str, task: Any, timeout: int) -> Any:
            if not self._door.is_virtual:
                return await super()._aexecute_with_timeout(task_prompt, task, timeout)
            with _limit(self._door, task, timeout):
                return await self._aexecute_without_timeout(task_prompt, task)

        def _execute_with_timeout(self, task_prompt: str, task: Any, timeout: int) -> Any:
            if not self._door.is_virtual:
                return super()._execute_with_timeout(task_prompt, task, timeout)
            with _limit(self._door, task, timeout):
                try:
                    return self._execute_without_timeout(task_prompt, task)
                except (ToolExecutionFailedError, HookAborted):
                    raise
                except Exception as error:
                    raise RuntimeError(f"Task execution failed: {error!s}") from error

        def copy(self) -> Any:
            return _door_agent(self, self._door)

    return named_after(DoorAgent, kind)


@lru_cache(maxsize=64)
def _task_kind(kind: Any) -> Any:
    class DoorTask(kind):  # type: ignore[misc]  # what kind of task is known at run time only
        _door: Any = PrivateAttr(default=None)

        def execute_async(self, agent: Any = None, context: Any = None, tools: Any = None) -> Any:
            if not self._door.is_study:
                return super().execute_async(agent, context, tools)
            future: Future[Any] = Future()
            self._execute_task_async(agent, context, tools, future)
            return future

        async def aexecute_sync(self, agent: Any = None, context: Any = None, tools: Any = None) -> Any:
            if not self._door.is_study:
                return await super().aexecute_sync(agent, context, tools)
            async with self._door.turn:
                return await super().aexecute_sync(agent, context, tools)

    return named_after(DoorTask, kind)


@lru_cache(maxsize=64)
def _executor_kind(kind: Any) -> Any:
    """Return a kind of executor in which calls of tools that are asked for at once are made one after the other.

    All of them are made, as in CrewAI's threads, whatever becomes of one.
    """

    class DoorExecutor(kind):  # type: ignore[misc]  # what kind of executor is known at run time only
        _batch: Any = PrivateAttr(default=None)

        @classmethod
        def flow_definition(cls) -> Any:
            return kind.flow_definition()  # CrewAI looks for the steps in a class itself, and not in those above it

        def _should_parallelize_native_tool_calls(self, tool_calls: list[Any]) -> bool:
            is_parallel = bool(super()._should_parallelize_native_tool_calls(tool_calls))
            self._batch = _Batch(tool_calls) if is_parallel else None
            return is_parallel

        def _execute_single_native_tool_call(self, tool_call: Any) -> Any:
            make = super()._execute_single_native_tool_call
            return make(tool_call) if self._batch is None else self._batch.made(tool_call, make)

    return named_after(DoorExecutor, kind)


class _Batch:
    """Calls that are asked for at once: the first thread that comes makes all of them, in their order.

    After a failure that ends a task, CrewAI drops the calls whose thread has not begun, and tells of any one of several
    such failures. Both would be left to the timing of threads; so none ends before all are made, and all end with the
    first such failure.
    """

    def __init__(self, calls: list[Any]) -> None:
        self._calls = list(calls)
        self._futures: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()

    def made(self, call: Any, make: Callable[[Any], Any]) -> Any:
        """Return what one of the calls has brought, or raise what ends them all."""
        with self._lock:
            if not self._futures:
                self._futures = {id(one): _future(make, one) for one in self._calls}
        for future in self._futures.values():
            error = future.exception()
            if isinstance(error, ToolExecutionFailedError | HookAborted) or not isinstance(error, Exception | None):
                raise error
        return self._futures[id(call)].result()


def _future(make: Callable[[Any], Any], call: Any) -> Future[Any]:
    """Make a call in a context of its own, as in a thread of its own."""
    future: Future[Any] = Future()
    try:
        future.set_result(contextvars.copy_context().run(make, call))
    except BaseException as error:  # whoever asks for the result is told
        future.set_exception(error)
    return future


@contextmanager
def _limit(doors: CrewDoors, task: Any, timeout: int) -> Iterator[None]:
    """Keep the time limit of a task by the clock of the run.

    CrewAI says that a task took too long when its thread is done with it, whatever that has done: so the time is
    looked at afterwards.
    """
    until = doors.run.clock.now() + timeout
    failed: Exception | None = None
    try:
        yield
    except Exception as error:  # and nothing else: a run that is over is over, however late
        failed = error
    if doors.run.clock.now() > until:
        raise TimeoutError(
            f"Task '{task.description}' execution timed out after {timeout} seconds. Consider increasing "
            "max_execution_time or optimizing the task."
        ) from failed
    if failed is not None:
        raise failed


_LOCK = threading.Lock()
_KEPT: dict[str, str | None] = {}
_COUNT = [0]


@contextmanager
def _quiet(doors: CrewDoors) -> Iterator[None]:
    """Keep CrewAI from telling its makers of the runs of a study; in earnest, it does as it is set."""
    if not doors.is_study:
        yield
        return
    with _LOCK:
        if _COUNT[0] == 0:
            _KEPT.update({name: os.environ.get(name) for name in _QUIET})
            os.environ.update(_QUIET)
        _COUNT[0] += 1
    try:
        yield
    finally:
        crewai_event_bus.flush()  # who listens there works in threads, and looks at the environment
        with _LOCK:
            _COUNT[0] -= 1
            if _COUNT[0] == 0:
                for name, value in _KEPT.items():
                    if value is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = value
