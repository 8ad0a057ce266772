"""A crew's tools behind doors."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from crewai.tools.agent_tools.base_agent_tools import BaseAgentTool
from crewai.tools.base_tool import Tool
from crewai.tools.memory_tools import RecallMemoryTool, RememberTool
from crewai.tools.tool_failure import ToolFailure
from crewai.utilities.string_utils import sanitize_tool_name
from pydantic import BaseModel, PrivateAttr, ValidationError
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.annotated import is_plain
from chaosagent.adapters.core.threads import Threads
from chaosagent.adapters.crewai.copies import class_of, named_after, recast
from chaosagent.canonical import Plain

_FAILURE = "$failure"
_MODEL = "$model"

Speaker = Callable[[], str]
"""Says who asks."""


class ToolDoors(Protocol):
    """What tools use of the doors of a run; see `chaosagent.adapters.crewai.doors.CrewDoors`."""

    threads: Threads

    async def use(
        self, agent: str, tool: Any, named: Mapping[str, Any], work: Callable[[Any], Any], *, native: bool = False
    ) -> Any: ...


def tool_name(tool: Any) -> str:
    """Return the name of a tool in the description that a model gets."""
    return str(sanitize_tool_name(tool.name))


def is_delegation(tool: Any) -> bool:
    """Whether it is one of those by which an agent of a crew hands on to another one, and gets an answer."""
    return isinstance(tool, BaseAgentTool)


def door_tool(tool: Any, doors: ToolDoors, speaker: Speaker) -> Any:
    """Return a copy of a tool whose function stands behind a door.

    The tools that CrewAI gives agents for its memory are left as they are: what they do crosses as memory.
    """
    if isinstance(tool, _DoorMark | RecallMemoryTool | RememberTool):
        return tool
    made = recast(tool, _kind(class_of(tool)))
    if isinstance(tool, Tool):  # a function that has been made a tool; CrewAI calls it on two ways
        made.__dict__["func"] = _crossing(made, tool.func, doors, speaker)
    else:
        made._door = _crossing(made, tool._run, doors, speaker), _crossing_later(made, tool._arun, doors, speaker)
    return made


def _crossing(made: Any, function: Callable[..., Any], doors: ToolDoors, speaker: Speaker) -> Callable[..., Any]:
    """Return a function that calls another one through a door, for callers in threads."""

    @functools.wraps(function)
    def crossing(*args: Any, **kwargs: Any) -> Any:
        named = named_arguments(function, args, kwargs)

        def work(arguments: dict[str, Any]) -> Any:
            returned = function(**altered_arguments(made, named, arguments))
            return asyncio.run(_awaited(returned)) if inspect.isawaitable(returned) else returned

        return doors.threads.now(lambda: doors.use(speaker(), made, named, work))

    return crossing


def _crossing_later(made: Any, function: Callable[..., Any], doors: ToolDoors, speaker: Speaker) -> Callable[..., Any]:
    """Return the same for callers on an event loop."""

    @functools.wraps(function)
    async def crossing(*args: Any, **kwargs: Any) -> Any:
        named, here = named_arguments(function, args, kwargs), asyncio.get_running_loop()

        async def work(arguments: dict[str, Any]) -> Any:
            return await function(**altered_arguments(made, named, arguments))

        def worked(arguments: dict[str, Any]) -> Any:
            return asyncio.run_coroutine_threadsafe(work(arguments), here).result()

        if doors.threads.is_here():
            return await doors.use(speaker(), made, named, work, native=True)
        return await doors.threads.later(lambda: doors.use(speaker(), made, named, worked))

    return crossing


class _DoorMark:
    """Marks tools that have their door."""


@functools.lru_cache(maxsize=256)
def _kind(kind: Any) -> Any:
    """Return a kind of tool that is marked; and with a door before its function, which CrewAI looks at."""
    if issubclass(kind, Tool):
        return named_after(type("DoorTool", (_DoorMark, kind), {"__module__": __name__}), kind)

    class DoorTool(_DoorMark, kind):  # type: ignore[misc]  # what kind of tool is known at run time only
        _door: Any = PrivateAttr(default=None)

        @functools.wraps(kind._run)
        def _run(self, *args: Any, **kwargs: Any) -> Any:
            return self._door[0](*args, **kwargs)

        @functools.wraps(kind._arun)
        async def _arun(self, *args: Any, **kwargs: Any) -> Any:
            return await self._door[1](*args, **kwargs)

    return named_after(DoorTool, kind)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def named_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    places = [name for name in inspect.signature(function).parameters if name != "self"]
    return dict(zip(places, args, strict=False)) | dict(kwargs)


def plain_arguments(named: Mapping[str, Any]) -> dict[str, Plain]:
    """Return the arguments of a call as plain data."""
    made: dict[str, Plain] = to_jsonable_python(dict(named), fallback=lambda other: type(other).__name__)
    return made


def altered_arguments(tool: Any, named: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are left of a call after injection; those that have changed are validated again.

    Raises:
        ValueError: As CrewAI says it where a model writes such arguments.
    """
    sent = plain_arguments(named)
    if given == sent:
        return dict(named)
    changed = {name: value for name, value in given.items() if name not in sent or value != sent[name]}
    left = {name: value for name, value in named.items() if name in given}
    made: dict[str, Any] = tool._validate_kwargs(left | changed)
    return made


def plain_result(result: Any, tool: Any) -> Plain:
    """Return what a tool answers as plain data; an object that could not be made again as the text for the agent."""
    if isinstance(result, ToolFailure):
        return {_FAILURE: result.model_dump(mode="json")}
    if is_plain(result):
        made: Plain = result
        return made
    if isinstance(result, BaseModel) and tool.result_schema is not None:
        return {_MODEL: result.model_dump(mode="json")}
    return str(tool.format_output_for_agent(result))


def result_of(told: Plain, tool: Any) -> Any:
    """Return what a tool answers, from plain data, whatever was done to them."""
    if isinstance(told, Mapping) and len(told) == 1:
        ((key, inside),) = told.items()
        try:
            if key == _FAILURE:
                return ToolFailure.model_validate(inside)
            if key == _MODEL and tool.result_schema is not None:
                return tool.result_schema.model_validate(inside)
        except ValidationError:  # of what an injection has made of it
            return inside
    return told
