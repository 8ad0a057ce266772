"""What tools of the OpenAI Agents SDK answer, and what is told of them, as plain data and back."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agents import FunctionTool
from agents.tool import ToolOutputFileContent, ToolOutputImage, ToolOutputText
from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from chaosagent.canonical import Plain, digest_of

_ATOMS = (str, int, float, bool, bytes, type(None))
_SHOWN = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)


def result_of(result: Any, tool: Any) -> Any:
    """Return what a tool answers, as plain data.

    Plain data stay as they are. Objects become mappings where the function's annotation says how to make them again,
    and otherwise the text that the SDK would show the model.
    """
    if _is_plain(result):
        return result
    if isinstance(result, _SHOWN):
        return result.model_dump(mode="json", exclude_none=True)
    if isinstance(result, list) and result and all(isinstance(part, _SHOWN) for part in result):
        return [part.model_dump(mode="json", exclude_none=True) for part in result]
    adapter = _adapter_of(getattr(tool, "__wrapped__", None))
    if adapter is not None:
        try:
            return adapter.dump_python(adapter.validate_python(result), mode="json")
        except (ValidationError, PydanticUserError, ValueError):
            return str(result)
    return str(result)


def rebuilt(told: Any, tool: Any) -> Any:
    """Return what an agent is told as the function's annotation has it; plain data where that cannot be."""
    adapter = None if isinstance(told, str) else _adapter_of(getattr(tool, "__wrapped__", None))
    if adapter is None:
        return told
    try:
        return adapter.validate_python(told)
    except ValidationError:
        return told


@functools.lru_cache(maxsize=1024)
def _adapter_of(function: Callable[..., Any] | None) -> TypeAdapter[Any] | None:
    """Return what makes objects of plain data for a function that answers with objects."""
    if function is None:
        return None
    try:
        annotation: Any = typing.get_type_hints(function).get("return")
        return TypeAdapter(annotation) if _has_objects(annotation) else None
    except (NameError, TypeError, PydanticUserError):
        return None


def _has_objects(annotation: Any) -> bool:
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return dataclasses.is_dataclass(annotation) or issubclass(annotation, BaseModel | tuple | enum.Enum)
    return typing.get_origin(annotation) is tuple or any(_has_objects(part) for part in typing.get_args(annotation))


def _is_plain(value: Any) -> bool:
    if type(value) in _ATOMS:
        return True
    if type(value) is list:
        return all(_is_plain(part) for part in value)
    return type(value) is dict and all(type(key) is str and _is_plain(part) for key, part in value.items())


def parsed(text: str | None) -> Any:
    """Return what a JSON text says, or the text itself where it is none."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text


def written(value: Plain) -> str:
    """Return arguments as a model writes them."""
    return value if isinstance(value, str) else json.dumps(value)


def defaults_of(tool: Any) -> dict[str, Any]:
    """Return the values of arguments that a model may leave out, as far as the tool's schema has them."""
    properties = tool.params_json_schema.get("properties") or {}
    return {name: about["default"] for name, about in properties.items() if "default" in about}


def told_of(tool: Any) -> dict[str, Any]:
    """Return what a model is told of a tool."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}


def shown(tool: Any, told: Mapping[str, Any]) -> Any:
    """Return a copy of a tool as a model is told of it."""
    description, schema = str(told.get("description", "")), told.get("parameters")
    return dataclasses.replace(
        tool,
        description=description,
        params_json_schema=dict(schema) if isinstance(schema, Mapping) else tool.params_json_schema,
        strict_json_schema=False,  # it was made strict when the tool was made
    )


def description(tools: Iterable[Any], handoffs: Iterable[Any]) -> str:
    """Return the digest of what a model is told of tools and hand-offs: its answer depends on it."""
    functions = [told_of(tool) if isinstance(tool, FunctionTool) else type(tool).__name__ for tool in tools]
    others = [[handoff.tool_name, handoff.tool_description, handoff.input_json_schema] for handoff in handoffs]
    return digest_of([functions, others])
