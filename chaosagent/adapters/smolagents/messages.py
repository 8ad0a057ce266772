"""What smolagents asks a model and is answered, as plain data and back.

Ids of tool calls, which providers draw, do not cross: an agent is given `call-0001`, `call-0002`, ... here. smolagents
orders what tools said by these ids, as texts; so they have leading zeros.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    TokenUsage,
)

from chaosagent.adapters.core.calls import answer_from, arguments_text, calls_of, parsed_arguments, text_of
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.canonical import DIGEST_BYTES, Plain, digest_of

_ROLES = {role.value: role for role in MessageRole}


def plain_messages(messages: Sequence[Any]) -> list[Plain]:
    """Return messages to a model as plain data; pictures by their digests."""
    return [_plain_message(message) for message in messages]


def messages_of(told: Any, messages: Sequence[Any]) -> list[Any]:
    """Return the messages that are left of those that were to be sent; equal ones are the same ones."""
    known = {digest_of(_plain_message(message)): message for message in messages}
    found: list[Any] = []
    for one in told if isinstance(told, list | tuple) else ():
        if not isinstance(one, Mapping) or one.get("role") not in _ROLES:
            continue
        same = known.get(digest_of(one))
        found.append(ChatMessage(_ROLES[str(one["role"])], one.get("content")) if same is None else same)
    return found


def describe_tool(tool: Any) -> dict[str, Any]:
    """Return the description of a tool or of a managed agent, as a model gets it."""
    return {"name": tool.name, "description": tool.description or "", "parameters": tool.inputs}


def tools_of(told: Any, tools: Sequence[Any]) -> list[Any]:
    """Return the tools that a model gets; an unaltered one is the same object, new ones are left out."""
    return as_listed(told, tools, describe_tool, _altered)


def _altered(tool: Any, one: Mapping[str, Any]) -> Any:
    made = copy.copy(tool)
    made.description = str(one.get("description", ""))
    made.inputs = one["parameters"] if isinstance(one.get("parameters"), dict) else tool.inputs
    return made


def answer_of(message: ChatMessage) -> dict[str, Plain]:
    """Return an answer of a model as plain data."""
    answer: dict[str, Plain] = {
        "content": _text(message.content),
        "tool_calls": [
            {"name": call.function.name, "arguments": parsed_arguments(call.function.arguments)}
            for call in message.tool_calls or ()
        ],
    }
    if message.token_usage is not None:
        usage = message.token_usage
        answer["usage"] = {"input": usage.input_tokens, "output": usage.output_tokens}
    return answer


def message_of(told: Any, ids: Sequence[str]) -> ChatMessage:
    """Return an answer as smolagents has it, made of what crossed, whatever was done to it.

    Args:
        told: What crossed.
        ids: Of its calls; as many as `calls_of` finds.
    """
    answer = answer_from(told)
    calls, text = calls_of(answer), text_of(answer)
    made = [
        ChatMessageToolCall(
            ChatMessageToolCallFunction(_arguments(call.get("arguments")), str(call.get("name", ""))), id_, "function"
        )
        for id_, call in zip(ids, calls, strict=True)
    ]
    return ChatMessage(
        role=MessageRole.ASSISTANT,
        content=text if text or not made else None,
        tool_calls=made or None,
        token_usage=_usage_of(answer.get("usage")),
    )


def plain_options(options: Mapping[str, Any]) -> dict[str, Plain]:
    """Return what else an answer depends on."""
    found: dict[str, Plain] = {}
    for name, value in sorted(options.items()):
        if value is not None:
            found[name] = digest_of(value) if isinstance(value, Mapping) else value
    return found


def _plain_message(message: Any) -> dict[str, Plain]:
    given = message if isinstance(message, Mapping) else vars(message)
    role, content = given["role"], given.get("content")
    parts = [_plain_part(part) for part in content] if isinstance(content, list | tuple) else content
    return {"role": role.value if isinstance(role, MessageRole) else str(role), "content": parts}


def _plain_part(part: Mapping[str, Any]) -> dict[str, Plain]:
    return {name: value if isinstance(value, str) else _digest(value) for name, value in part.items()}


def _digest(value: Any) -> str:
    """Return the digest of a picture."""
    data = value.tobytes() if hasattr(value, "tobytes") else repr(value).encode()
    return blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)


def _arguments(arguments: Any) -> Any:
    return dict(arguments) if isinstance(arguments, Mapping) else arguments_text(arguments)


def _usage_of(told: Any) -> TokenUsage | None:
    if not isinstance(told, Mapping):
        return None
    counts = [told.get(name) for name in ("input", "output")]
    return TokenUsage(*(count if isinstance(count, int) else 0 for count in counts))
