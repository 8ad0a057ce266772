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
            Anything else, and an empty list, is returned as it is.
        change: Gets the tools, at least one, and returns new ones; it must not change those it gets.
    """
    tools = _tools(value)
    if tools:
        return list(change(tools))
    if isinstance(value, Mapping):
        tools = _tools(value.get("tools"))
        if tools:
            return {**value, "tools": list(change(tools))}
    return value


def name_of(tool: Tool) -> str:
    """Return the name of a tool."""
    return str(tool["name"])


def _tools(value: Plain) -> list[Tool]:
    """Return a list's items if all of them are mappings with a name, else nothing."""
    if not isinstance(value, list | tuple):
        return []
    tools = [item for item in value if isinstance(item, Mapping) and isinstance(item.get("name"), str)]
    return tools if len(tools) == len(value) else []
