"""Agents whose tools are functions: each function becomes one that crosses a door.

from chaosagent.adapters.functions import through_doors

@chaosagent.target(tasks=[...])
async def desk(task, run):
    tools = through_doors(run, [get_order, refund], effects={"refund": chaosagent.effect("order")})
    return await my_agent(task.input["question"], tools)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.adapters.doors import FrameworkDoors, refuse_twice
from chaosagent.errors import TargetError
from chaosagent.targets.target import Run


def through_doors(
    run: Run, functions: Iterable[Callable[..., Any]], **options: Unpack[ToolOptions]
) -> list[Callable[..., Any]]:
    """Return functions with the same names, signatures and docstrings whose calls cross doors, `service:<name>`.

    Args:
        run: The run.
        functions: The tools. In an asynchronous target all of them come back asynchronous; in a synchronous target
            they must be plain functions and stay so.
        options: What is known about the tools, see `ToolOptions`.

    Raises:
        TargetError: Two functions share a name, or one has none.
        UnknownNameError: There is no such option, or something is said of a tool that is not there.
    """
    listed = list(functions)
    names = [_name_of(function) for function in listed]
    refuse_twice("tools", names)
    tools = tools_from(options)
    tools.check(names)
    doors = FrameworkDoors(run, tools)
    return [_crossing(doors, name, function) for name, function in zip(names, listed, strict=True)]


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise TargetError(f"{function!r:.80} has no name that a schedule could use. Define it with `def`.")
    return str(name)


def _crossing(doors: FrameworkDoors, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    def call(arguments: dict[str, Any]) -> Any:
        bound = signature.bind_partial()
        bound.arguments.update(_spread(signature, arguments))
        return function(*bound.args, **bound.kwargs)

    @functools.wraps(function)
    def crossing(*positional: Any, **named: Any) -> Any:
        bound = signature.bind(*positional, **named)
        return doors.tool(name, _gathered(signature, bound.arguments), call)

    @functools.wraps(function)
    async def crossing_later(*positional: Any, **named: Any) -> Any:
        return await crossing(*positional, **named)

    # Frameworks ask a function whether it is one with `async def`.
    return crossing_later if inspect.iscoroutinefunction(function) else crossing


def _gathered(signature: inspect.Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name; those of `**extra` stand beside the others, as the caller wrote them.

    Where one of them is called like a parameter, all of them stand in a mapping under the name of `**extra` itself.
    """
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        is_extra = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        if is_extra and signature.parameters.keys().isdisjoint(value):
            found.update(value)
        else:
            found[name] = value
    return found


def _spread(signature: inspect.Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as they are bound; those that no parameter is called after go into `**extra`."""
    known = {name: value for name, value in arguments.items() if name in signature.parameters}
    extra = {name: value for name, value in arguments.items() if name not in signature.parameters}
    keywords = [one.name for one in signature.parameters.values() if one.kind is one.VAR_KEYWORD]
    if keywords and extra:
        together = known.get(keywords[0])
        known[keywords[0]] = {**together, **extra} if isinstance(together, Mapping) else extra
    return dict(sorted(known.items(), key=lambda pair: list(signature.parameters).index(pair[0])))
