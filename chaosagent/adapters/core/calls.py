"""Calls of tools in the answers of models: what a provider draws or writes in its own way, as plain data and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from chaosagent.canonical import Plain


def parsed_arguments(written: object) -> Plain:
    """Return the arguments of a call as a mapping, or as the text that a model wrote when that is no JSON object."""
    if isinstance(written, Mapping):
        return dict(written)
    if written is None or written == "":
        return {}
    try:
        read = json.loads(str(written))
    except ValueError:
        return str(written)
    return read if isinstance(read, dict) else str(written)


def arguments_text(arguments: object) -> str:
    """Return the arguments of a call as a model writes them."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, default=repr)


def next_ids(taken: Collection[str], count: int) -> list[str]:
    """Return ids for the next calls in a conversation, `call-1`, `call-2`, ...; providers would draw them.

    Args:
        taken: The ids that the conversation has already: none is given twice.
        count: Of calls.
    """
    number = len(taken)
    found: list[str] = []
    while len(found) < count:
        number += 1
        if f"call-{number}" not in taken:
            found.append(f"call-{number}")
    return found


def answer_from(told: object) -> Mapping[str, Any]:
    """Return the answer of a model that crossed as a mapping, whatever was done to it."""
    return told if isinstance(told, Mapping) else {"content": "" if told is None else str(told)}


def text_of(answer: Mapping[str, Any]) -> str:
    """Return what an answer of a model says; empty where an injection has put something else there."""
    text = answer.get("content")
    return text if isinstance(text, str) else ""


def calls_of(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls in an answer that crossed, whatever was done to it."""
    listed = answer.get("tool_calls")
    return [call for call in listed if isinstance(call, Mapping)] if isinstance(listed, list | tuple) else []
