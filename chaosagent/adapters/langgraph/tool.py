"""A LangChain tool whose function stands behind a door."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, PrivateAttr
from pydantic_core import to_jsonable_python

_CALL: contextvars.ContextVar[str] = contextvars.ContextVar("chaosagent_langgraph_call", default="")
_POSITIONAL = "arg"

Cross = Callable[[str, str, dict[str, Any], Any], Awaitable[Any]]
"""Takes a call through its door: tool, id of the call, arguments, and how the function is called with what is left."""

Now = Callable[[Callable[[], Awaitable[Any]]], Any]


class Invoke:
    """Calls a tool's function with the arguments that are left after injection.

    Attributes:
        native: It is asynchronous by itself.
    """

    def __init__(self, tool: Any, arguments: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._tool, self._sent, self._args, self._kwargs = tool, arguments, args, kwargs
        self.native = False

    def __call__(self, altered: dict[str, Any]) -> Any:
        """Return what the function returns, or an awaitable of it."""
        args, kwargs = self._args, self._kwargs
        if altered != self._sent:
            args = tuple(altered.get(f"{_POSITIONAL}{place}", value) for place, value in enumerate(args, 1))
            kwargs = self._validated(altered)
        return self._tool._arun(*args, **kwargs) if self.native else self._tool._run(*args, **kwargs)

    def _validated(self, altered: dict[str, Any]) -> dict[str, Any]:
        """Return what the tool's schema makes of altered arguments; those that are gone are left to their defaults."""
        left = {name: value for name, value in self._kwargs.items() if name in altered or name not in self._sent}
        changed = {name: value for name, value in altered.items() if value != self._sent.get(name)}
        schema = self._tool.args_schema
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            return left | changed
        made = schema.model_validate({**left, **changed})
        return left | {name: getattr(made, name, value) for name, value in changed.items()}


def door_tool(tool: Any, cross: Cross, now: Now) -> Any:
    """Return a copy of a tool that calls the function of the tool through a door.

    Args:
        tool: A tool; it is not changed.
        cross: Takes a call through the door.
        now: Runs something asynchronous where the caller is not.
    """
    if isinstance(tool, _DoorMark):
        return tool
    kind: Any = type(tool)
    made = _kind(kind).model_construct(**{name: getattr(tool, name) for name in type(tool).model_fields})
    for name in type(tool).__private_attributes__:
        setattr(made, name, getattr(tool, name))
    made._door = (tool, cross, now)
    return made


class _DoorMark:
    """Marks tools that have their door."""


@functools.lru_cache(maxsize=256)
def _kind(kind: Any) -> Any:
    """Return a kind of tool with its functions behind doors; LangChain looks at signatures, so they stay."""

    class DoorTool(_DoorMark, kind):  # type: ignore[misc]  # what kind of tool is known at run time only
        _door: Any = PrivateAttr(default=None)

        @functools.wraps(kind._run)
        def _run(self, *args: Any, **kwargs: Any) -> Any:
            tool, cross, now = self._door
            arguments = _crossing(tool, args, kwargs)
            invoke = Invoke(tool, arguments, args, kwargs)
            return now(lambda: cross(tool.name, _CALL.get(), arguments, invoke))

        @functools.wraps(kind._run if kind._arun is BaseTool._arun else kind._arun)
        async def _arun(self, *args: Any, **kwargs: Any) -> Any:
            tool, cross, _ = self._door
            arguments = _crossing(tool, args, kwargs)
            native = kind._arun is not BaseTool._arun and getattr(tool, "coroutine", True) is not None
            manager = kwargs.get("run_manager")
            if not native and manager is not None:
                kwargs["run_manager"] = manager.get_sync()
            invoke = Invoke(tool, arguments, args, kwargs)
            invoke.native = native
            return await cross(tool.name, _CALL.get(), arguments, invoke)

        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002  # LangChain's name
            # Some tools would go into a thread of their own here already, where the order depends on chance.
            return await BaseTool.ainvoke(self, input, config, **kwargs)

        def run(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
            with _Call(tool_call_id):
                return super().run(*args, tool_call_id=tool_call_id, **kwargs)

        async def arun(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
            with _Call(tool_call_id):
                return await super().arun(*args, tool_call_id=tool_call_id, **kwargs)

    DoorTool.__name__ = DoorTool.__qualname__ = kind.__name__
    return DoorTool


class _Call:
    """Remembers which call of the model is served inside a `with` block."""

    def __init__(self, call_id: str | None) -> None:
        self._id = call_id or ""

    def __enter__(self) -> None:
        self._token = _CALL.set(self._id)

    def __exit__(self, *_: object) -> None:
        _CALL.reset(self._token)


def _crossing(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return what the model gave: what LangGraph adds, such as the state, the store or the runtime, does not cross."""
    schema = tool.tool_call_schema
    shown = schema.get("properties", {}) if isinstance(schema, dict) else getattr(schema, "model_fields", {})
    named = {name: value for name, value in kwargs.items() if name in shown}
    placed = {f"{_POSITIONAL}{place}": value for place, value in enumerate(args, 1)}
    made: dict[str, Any] = to_jsonable_python({**placed, **named})
    return made
