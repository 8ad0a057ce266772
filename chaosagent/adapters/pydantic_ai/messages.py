"""Messages of pydantic-ai as plain data and back.

What differs from run to run without meaning anything stays out: timestamps, ids of runs and conversations, and ids of
tool calls, which are renamed `call-1`, `call-2` ... by first appearance in each request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ToolReturn,
    tool_return_content_ta,
    tool_return_ta,
)
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.calls import arguments_text, parsed_arguments
from chaosagent.adapters.core.drawn_ids import CallIds
from chaosagent.canonical import Plain

_NOISE = frozenset({"timestamp", "run_id", "conversation_id", "failed_attempts"})
_MADE_UP = "pyd_ai_"
_RETURNED: TypeAdapter[Any] = TypeAdapter(ToolReturn)


def plain_messages(messages: Iterable[ModelMessage], ids: CallIds) -> list[Plain]:
    """Return what a model sees of a conversation."""
    dumped = cast("list[dict[str, Any]]", ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"))
    return [_plain_message(message, ids) for message in dumped]


def messages_of(plain: Plain, ids: CallIds | None = None) -> list[ModelMessage]:
    """Return the conversation behind plain messages.

    Raises:
        ValidationError: They are no messages of pydantic-ai.
    """
    known = ids or CallIds()
    listed = [_with_own_ids(message, known) for message in plain] if isinstance(plain, Sequence) else plain
    return list(ModelMessagesTypeAdapter.validate_python(listed))


def plain_answer(response: ModelResponse, ids: CallIds) -> dict[str, Plain]:
    """Return a model's answer: `content`, `tool_calls`, and under `message` what else is needed to make it again."""
    (dumped,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    message = _without_noise(dumped)
    message["usage"] = {name: count for name, count in dumped["usage"].items() if count}
    calls: list[Plain] = []
    parts: list[dict[str, Any]] = []
    texts = [part["content"] for part in dumped["parts"] if part["part_kind"] == "text"]
    for part in dumped["parts"]:
        kept = _without_noise(part)
        if part["part_kind"] == "tool-call":
            name = ids.answered(drawn := part["tool_call_id"], is_made_up=drawn.startswith(_MADE_UP))
            calls.append({"name": part["tool_name"], "arguments": parsed_arguments(part["args"]), "id": name})
            kept = {key: value for key, value in kept.items() if key not in {"tool_name", "args"}}
            kept["tool_call_id"] = name
        elif part["part_kind"] == "text" and len(texts) == 1:
            del kept["content"]
        parts.append(kept)
    return {"content": "".join(texts), "tool_calls": calls, "message": {**message, "parts": cast(Plain, parts)}}


def response_of(answer: Plain, ids: CallIds) -> ModelResponse:
    """Return the answer of a model that plain data stand for, whatever was done to them."""
    if isinstance(answer, str):
        answer = {"content": answer}
    given: Mapping[str, Any] = answer if isinstance(answer, Mapping) else {}
    content, message = given.get("content"), given.get("message")
    told = dict(message) if isinstance(message, Mapping) else {"kind": "response"}
    listed = given.get("tool_calls")
    calls = _numbered(listed if isinstance(listed, Sequence) and not isinstance(listed, str) else (), ids)
    kept = [part for part in told.get("parts", ()) if isinstance(part, Mapping)]
    parts = _with_text([dict(part) for part in kept], content if isinstance(content, str) else "")
    known = {part.get("tool_call_id") for part in parts}
    filled = [_with_call(part, calls) if part.get("part_kind") == "tool-call" else part for part in parts]
    filled += [_with_call({"part_kind": "tool-call"}, {"": call}) for name, call in calls.items() if name not in known]
    made = [part for part in filled if part is not None]
    if not calls and told.get("finish_reason") == "tool_call":
        told["finish_reason"] = "stop"
    for part in made:
        if part.get("part_kind") == "tool-call":
            part["tool_call_id"] = ids.id_of(part["tool_call_id"])
    (response,) = ModelMessagesTypeAdapter.validate_python([{**told, "parts": made}])
    return cast(ModelResponse, response)


def plain_arguments(arguments: Any) -> dict[str, Plain]:
    """Return the validated arguments of a tool as plain data."""
    found = to_jsonable_python(arguments, bytes_mode="base64")
    return found if isinstance(found, dict) else {"arguments": found}


def plain_result(result: Any) -> Plain:
    """Return what a tool gave, as the model is shown it."""
    if isinstance(result, ToolReturn):
        returned = _RETURNED.dump_python(result, mode="json", by_alias=True)
        return cast(Plain, {**returned, "return_value": plain_result(result.return_value)})
    return cast(Plain, tool_return_ta.dump_python(result, mode="json", by_alias=True))


def result_of(plain: Plain) -> Any:
    """Return what a tool gave, from plain data; pictures and other files become the framework's objects again."""
    if isinstance(plain, Mapping) and plain.get("kind") == "tool-return" and "return_value" in plain:
        return _RETURNED.validate_python(plain)
    return tool_return_content_ta.validate_python(plain)


def _plain_message(message: dict[str, Any], ids: CallIds) -> Plain:
    parts = []
    for part in message["parts"]:
        kept = _without_noise(part)
        if kept.get("tool_call_id"):
            kept["tool_call_id"] = ids.crossing(kept["tool_call_id"])
        parts.append(kept)
    kept = {key: value for key, value in _without_noise(message).items() if key != "usage"}
    return cast(Plain, {**kept, "parts": parts})


def _with_own_ids(message: Plain, ids: CallIds) -> Plain:
    if not isinstance(message, Mapping) or not isinstance(message.get("parts"), Sequence):
        return message
    parts = []
    for part in cast("Sequence[Any]", message["parts"]):
        named = isinstance(part, Mapping) and isinstance(part.get("tool_call_id"), str)
        parts.append({**part, "tool_call_id": ids.id_of(part["tool_call_id"])} if named else part)
    return {**message, "parts": parts}


def _without_noise(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what means something; nothing is said of what is not there, except of an empty answer of a tool."""
    return {key: value for key, value in found.items() if (value is not None or key == "content") and key not in _NOISE}


def _numbered(listed: Sequence[Any], ids: CallIds) -> dict[str, Mapping[str, Any]]:
    """Return calls by id; one without an id of its own gets a new one."""
    calls: dict[str, Mapping[str, Any]] = {}
    for call in listed:
        if not isinstance(call, Mapping):
            continue
        name = call.get("id")
        if not isinstance(name, str) or not name or name in calls:
            name = ids.answered("")
        calls[name] = {**call, "id": name}
    return calls


def _with_call(part: dict[str, Any], calls: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the part of a tool call with its name and arguments; `None` for one that is not made any more."""
    call = calls.get(part.get("tool_call_id", ""))
    if call is None:
        return None
    arguments = call.get("arguments")
    written = arguments if isinstance(arguments, Mapping) else arguments_text(arguments)
    return {**part, "tool_name": str(call.get("name", "")), "args": written, "tool_call_id": call["id"]}


def _with_text(parts: list[dict[str, Any]], content: str) -> list[dict[str, Any]]:
    """Return parts with a text in the place of theirs, unless it is theirs."""
    texts = [part for part in parts if part.get("part_kind") == "text"]
    if len(texts) > 1 and "".join(str(part.get("content", "")) for part in texts) == content:
        return parts
    if not texts:
        return [*([{"part_kind": "text", "content": content}] if content else []), *parts]
    texts[0]["content"] = content
    return [part for part in parts if part.get("part_kind") != "text" or part is texts[0]]
