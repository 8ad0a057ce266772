"""What LlamaIndex asks a model and is answered, as plain data and back.

Ids of tool calls, which providers draw, do not cross: they are given here, `call-1`, `call-2`, ... in the order of a
conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ToolCallBlock
from pydantic import ValidationError

from chaosagent.adapters.core.calls import answer_from, calls_of, next_ids, parsed_arguments, text_of
from chaosagent.canonical import Plain, digest_of

_SHOWN = ("tool_call_id",)
"""What a model is shown of the additional arguments of a message; others are objects of a provider."""


def in_order(messages: Sequence[Any]) -> list[Any]:
    """Return messages with the results of tools in the order of the calls.

    LlamaIndex has them in the order in which they came, which differs between a run and its exact replay.
    """
    places = {call_id: place for place, call_id in enumerate(call_ids(messages)[0])}
    made = list(messages)
    results = [place for place, message in enumerate(made) if message.role == "tool"]
    ordered = sorted((made[place] for place in results), key=lambda one: places.get(_call_id(one), -1))
    for place, message in zip(results, ordered, strict=True):
        made[place] = message
    return made


def plain_messages(messages: Sequence[Any]) -> list[Plain]:
    """Return messages to a model as plain data."""
    return [_plain_message(message) for message in messages]


def messages_of(told: Any, messages: Sequence[Any]) -> list[Any]:
    """Return the messages that are left of those that were to be sent; equal ones are the same ones."""
    known = {digest_of(_plain_message(message)): message for message in messages}
    found: list[Any] = []
    for one in told if isinstance(told, list | tuple) else ():
        if not isinstance(one, Mapping):
            continue
        same = known.get(digest_of(one))
        try:
            found.append(ChatMessage.model_validate(one) if same is None else same)
        except ValidationError:  # no message any more
            continue
    return found


def describe_tool(tool: Any) -> dict[str, Any]:
    """Return the description of a tool, as a model gets it."""
    metadata = tool.metadata
    return {
        "name": metadata.get_name(),
        "description": metadata.description,
        "parameters": metadata.get_parameters_dict(),
    }


def answer_of(response: Any, calls: Sequence[Any]) -> dict[str, Plain]:
    """Return an answer of a model as plain data.

    Args:
        response: The answer.
        calls: The calls of tools in it, as the model itself finds them.
    """
    made: list[Plain] = [{"name": call.tool_name, "arguments": dict(call.tool_kwargs)} for call in calls]
    return {"content": response.message.content or "", "tool_calls": made}


def response_of(told: Any, messages: Sequence[Any]) -> Any:
    """Return an answer as LlamaIndex has it, made of what crossed, whatever was done to it."""
    answer = answer_from(told)
    calls, text = calls_of(answer), text_of(answer)
    blocks: list[Any] = [TextBlock(text=text)] if text else []
    for id_, call in zip(next_ids(call_ids(messages)[0], len(calls)), calls, strict=True):
        arguments = parsed_arguments(call.get("arguments"))
        blocks.append(ToolCallBlock(tool_call_id=id_, tool_name=str(call.get("name", "")), tool_kwargs=arguments))
    return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks), delta=text)


def call_ids(messages: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Return the ids of the calls in a conversation, and of those whose results are in it."""
    asked = [block.tool_call_id for message in messages for block in message.blocks if isinstance(block, ToolCallBlock)]
    answered = [_call_id(message) for message in messages if message.role == "tool"]
    return [id_ for id_ in asked if id_], [id_ for id_ in answered if id_]


def _call_id(message: Any) -> str:
    return str(message.additional_kwargs.get("tool_call_id") or "")


def _plain_message(message: Any) -> dict[str, Plain]:
    made: dict[str, Plain] = message.model_dump(mode="json", include={"role", "blocks"}, exclude_none=True)
    shown = {name: message.additional_kwargs[name] for name in _SHOWN if name in message.additional_kwargs}
    return {**made, "additional_kwargs": shown} if shown else made
