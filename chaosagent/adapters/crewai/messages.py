"""What a crew's models are asked and answer, as plain data and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from crewai.utilities.agent_utils import extract_tool_call_info, is_tool_call_list
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.calls import arguments_text, calls_of, next_ids, parsed_arguments
from chaosagent.adapters.core.drawn_ids import CallIds
from chaosagent.canonical import Plain

_SHOWN = ("role", "content", "name", "tool_calls", "tool_call_id")
"""What a model is shown of a message; beside it, CrewAI keeps files and the objects of a provider there."""


def listed_messages(messages: Any) -> list[dict[str, Any]]:
    """Return messages as a list, as CrewAI's clients make one of a text."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    return [dict(one) for one in messages]


def plain_messages(messages: Iterable[Mapping[str, Any]], ids: CallIds) -> list[Plain]:
    """Return what a model sees of a conversation."""
    return [_plain_message(message, ids) for message in messages]


def messages_of(plain: Plain, messages: Sequence[Mapping[str, Any]], ids: CallIds) -> list[dict[str, Any]]:
    """Return the messages that are left of those that were to be sent; equal ones are the same ones."""
    known = [(_plain_message(message, ids), message) for message in messages]
    found: list[dict[str, Any]] = []
    for told in plain if isinstance(plain, Sequence) and not isinstance(plain, str) else ():
        same = next((message for one, message in known if one == told), None)
        found.append(dict(same) if same is not None else _message_of(told, ids))
    return found


def plain_answer(answer: Any) -> dict[str, Plain]:
    """Return a model's answer: `content`, `tool_calls`, and how the crew had it where that was no text."""
    if isinstance(answer, list) and answer and is_tool_call_list(answer):
        return {"content": "", "tool_calls": [_plain_call(call) for call in answer if extract_tool_call_info(call)]}
    if isinstance(answer, BaseModel):
        return {"content": answer.model_dump_json(), "tool_calls": [], "kind": "model"}
    if isinstance(answer, str):
        return {"content": answer, "tool_calls": []}
    return {"content": "", "tool_calls": [], "kind": "value", "value": to_jsonable_python(answer, fallback=str)}


def answer_of(told: Plain, response_model: type[BaseModel] | None, taken: Collection[str]) -> Any:
    """Return the answer that plain data stand for, whatever was done to them.

    Args:
        told: What crossed.
        response_model: What the answer was asked to be.
        taken: The ids of the calls of tools in the conversation before.

    Returns:
        Calls of tools in OpenAI's form, which CrewAI takes from every client; an object of `response_model`; or a text.
    """
    if not isinstance(told, Mapping):
        return "" if told is None else str(told)
    calls = calls_of(told)
    if calls:
        return [_call_of(call, name) for call, name in zip(calls, next_ids(taken, len(calls)), strict=True)]
    content = told.get("content")
    if told.get("kind") == "value" and not content:
        return told.get("value")
    text = content if isinstance(content, str) else "" if content is None else json.dumps(content)
    if told.get("kind") == "model" and response_model is not None:
        try:
            return response_model.model_validate_json(text)
        except ValidationError:  # of what an injection has made of it
            return text
    return text


def is_made_again(answer: Any) -> bool:
    """Whether the crew is given an answer made of plain data, though nothing was done to it.

    Those are calls of tools: their ids, which providers draw, are new ones then. Gemini's stay, as they hold more than
    a call, and CrewAI sends it back.
    """
    return isinstance(answer, list) and not all(type(call).__qualname__ == "Part" for call in answer)


def call_ids(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the ids of the calls of tools in a conversation."""
    return {str(call.get("id", "")) for message in messages for call in message.get("tool_calls") or ()}


def _plain_message(message: Mapping[str, Any], ids: CallIds) -> Plain:
    kept = {name: message[name] for name in _SHOWN if message.get(name) is not None}
    found = cast("dict[str, Any]", to_jsonable_python(kept, fallback=lambda other: type(other).__name__))
    if "tool_calls" in found:
        found["tool_calls"] = [_plain_reported(call, ids) for call in found["tool_calls"]]
    if "tool_call_id" in found:
        found["tool_call_id"] = ids.crossing(str(found["tool_call_id"]))
    return cast(Plain, found)


def _plain_reported(call: Any, ids: CallIds) -> Plain:
    """Return a call in a conversation, as CrewAI tells the model of it."""
    function = call.get("function", {}) if isinstance(call, Mapping) else {}
    name, written = function.get("name", ""), function.get("arguments", "")
    return {"id": ids.crossing(str(call.get("id", ""))), "name": name, "arguments": parsed_arguments(written)}


def _message_of(told: Any, ids: CallIds) -> dict[str, Any]:
    if not isinstance(told, Mapping):
        return {"role": "user", "content": str(told)}
    found = dict(told)
    if isinstance(found.get("tool_calls"), Sequence):
        found["tool_calls"] = [
            {
                "id": ids.id_of(str(call.get("id", ""))),
                "type": "function",
                "function": {"name": str(call.get("name", "")), "arguments": arguments_text(call.get("arguments"))},
            }
            for call in found["tool_calls"]
        ]
    if "tool_call_id" in found:
        found["tool_call_id"] = ids.id_of(str(found["tool_call_id"]))
    return found


def _plain_call(call: Any) -> Plain:
    info = extract_tool_call_info(call)
    assert info is not None
    _, name, arguments = info
    return {"name": name, "arguments": cast(Plain, to_jsonable_python(parsed_arguments(arguments), fallback=str))}


def _call_of(call: Mapping[str, Any], name: str) -> dict[str, Any]:
    function = {"name": str(call.get("name", "")), "arguments": arguments_text(call.get("arguments"))}
    return {"id": name, "type": "function", "function": function}
