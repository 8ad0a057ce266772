"""Answers of a model: mappings with `content` and `tool_calls`, or texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from chaosagent.canonical import Plain, plain

ToolCall: TypeAlias = Mapping[str, Plain]


_ENDED: Mapping[str, Plain] = {"finish_reason": "stop", "stop_reason": "end_turn"}


def with_text_only(value: Plain, content: str) -> Plain:
    """Return an answer that says something else and calls no tool.

    Args:
        value: A text, or a mapping with `content` or `tool_calls`; anything else is returned as it is.
        content: What it says. A `finish_reason` or `stop_reason` beside tool calls then says that the model has ended
            by itself: none stops for calls that it does not make.
    """
    if isinstance(value, str):
        return content
    if not isinstance(value, Mapping) or not ("content" in value or "tool_calls" in value):
        return value
    answer: dict[str, Plain] = {**value, "content": content}
    if "tool_calls" in value:
        answer["tool_calls"] = []
    if tool_calls(value):
        answer.update((key, reason) for key, reason in _ENDED.items() if isinstance(value.get(key), str))
    return answer


def tool_calls(value: Plain) -> list[Plain]:
    """Return the tool calls of an answer, none of anything that is not one."""
    calls = value.get("tool_calls") if isinstance(value, Mapping) else None
    return list(calls) if isinstance(calls, list | tuple) else []


def with_first_call(value: Plain, change: Callable[[ToolCall], ToolCall]) -> Plain:
    """Return a copy of an answer with its first tool call changed.

    Args:
        value: An answer; without a tool call that is a mapping it is returned as it is.
        change: Gets the call and returns another one; it must not change the one it gets.
    """
    calls = tool_calls(value)
    if not isinstance(value, Mapping) or not calls or not isinstance(calls[0], Mapping):
        return value
    return {**value, "tool_calls": [change(calls[0]), *calls[1:]]}


def arguments_json(arguments: Plain) -> str:
    """Return arguments as the text that a model writes; those that are a text already as they are."""
    if isinstance(arguments, str):
        return arguments
    # Bytes have no place in JSON; a model would have written some text.
    return json.dumps(plain(arguments), default=repr)
