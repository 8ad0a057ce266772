"""Answers and descriptions of the tools of the OpenAI Agents SDK, as plain data and back."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from agents import FunctionTool
from agents.tool import ToolOutputFileContent, ToolOutputImage, ToolOutputText

from chaosagent.adapters.core import annotated
from chaosagent.canonical import Plain, digest_of

_SHOWN = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
_returned_by = functools.lru_cache(maxsize=1024)(annotated.returned_by)


def result_of(result: Any, tool: Any) -> Plain:
    """Return what a tool answers, as plain data.

    Plain data stay as they are. Objects become mappings where the function's annotation says how to make them again,
    and otherwise the text that the SDK would show the model.
    """
    if isinstance(result, _SHOWN):
        return _dumped(result)
    if isinstance(result, list) and result and all(isinstance(part, _SHOWN) for part in result):
        return [_dumped(part) for part in result]
    return annotated.plain_result(result, _annotation_of(tool), str(result))


def rebuilt(told: Plain, tool: Any) -> object:
    """Return what an agent is told as the function's annotation has it; plain data where that cannot be."""
    return annotated.rebuilt(told, _annotation_of(tool))


def _dumped(part: Any) -> Plain:
    made: Plain = part.model_dump(mode="json", exclude_none=True)
    return made


def _annotation_of(tool: Any) -> object:
    """Return what a tool's function says that it returns; `None` for a tool that is made of none."""
    return _returned_by(getattr(tool, "__wrapped__", None))


def parse_json(text: str | None) -> Any:
    """Return what a JSON text says, or the text itself where it is none."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text


def arguments_text(value: Plain) -> str:
    """Return arguments as a model writes them."""
    return value if isinstance(value, str) else json.dumps(value)


def defaults_of(tool: Any) -> dict[str, Any]:
    """Return the values of arguments that a model may leave out, as far as the tool's schema has them."""
    properties = tool.params_json_schema.get("properties") or {}
    return {name: about["default"] for name, about in properties.items() if "default" in about}


def describe_tool(tool: Any) -> dict[str, Any]:
    """Return the description of a tool, as a model gets it."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}


def shown(tool: Any, told: Mapping[str, Any]) -> Any:
    """Return a copy of a tool with the description that a model gets."""
    description, schema = str(told.get("description", "")), told.get("parameters")
    return dataclasses.replace(
        tool,
        description=description,
        params_json_schema=dict(schema) if isinstance(schema, Mapping) else tool.params_json_schema,
        strict_json_schema=False,  # it was made strict when the tool was made
    )


def description(tools: Iterable[Any], handoffs: Iterable[Any]) -> str:
    """Return the digest of the descriptions of tools and hand-offs: the model's answer depends on them."""
    functions = [describe_tool(tool) if isinstance(tool, FunctionTool) else type(tool).__name__ for tool in tools]
    others = [[handoff.tool_name, handoff.tool_description, handoff.input_json_schema] for handoff in handoffs]
    return digest_of([functions, others])
