"""The tools in the answer to "which tools are there"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from chaosagent.canonical import Plain

Tool: TypeAlias = Mapping[str, Plain]


def with_tools(value: Plain, change: Callable[[Sequence[Tool]], Sequence[Tool]]) -> Plain:
    """Return a copy of an answer with its tools changed.

    Args:
        value: A list of mappings with a `name` each, or a mapping that holds such a list under `tools`, as MCP has it.
            A tool may also stand one level deeper, under `function`, as OpenAI's chat completions have it. Anything
            else, and an empty list, is returned as it is.
        change: Gets the tools, at least one, without what is around them, and returns new ones of the same names; it
            must not change those it gets.
    """
    if isinstance(value, Mapping):
        inside = value.get("tools")
        return {**value, "tools": with_tools(inside, change)} if isinstance(inside, list | tuple) else value
    tools = _tools(value)
    if not tools:
        return value
    assert isinstance(value, list | tuple)
    around = {name_of(tool): outer for tool, outer in zip(tools, value, strict=True) if outer is not tool}
    return [_put_back(tool, around.get(name_of(tool))) for tool in change(tools)]


def name_of(tool: Tool) -> str:
    """Return the name of a tool."""
    return str(tool["name"])


def _tools(value: Plain) -> list[Tool]:
    """Return the tools of a list if all of its items are some, and names tell them apart where one stands deeper."""
    if not isinstance(value, list | tuple):
        return []
    tools = [tool for tool in map(_tool, value) if tool is not None]
    if len(tools) < len(value):
        return []
    is_flat = all(tool is item for tool, item in zip(tools, value, strict=True))
    return tools if is_flat or len({name_of(tool) for tool in tools}) == len(tools) else []


def _tool(item: Plain) -> Tool | None:
    if not isinstance(item, Mapping):
        return None
    tool = item if "name" in item else item.get("function")
    return tool if isinstance(tool, Mapping) and isinstance(tool.get("name"), str) else None


def _put_back(tool: Tool, outer: Plain) -> Tool:
    return {**outer, "function": tool} if isinstance(outer, Mapping) else tool
