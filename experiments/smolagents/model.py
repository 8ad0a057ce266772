"""A model of smolagents that a function answers for: a policy in the place of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from smolagents import Model
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
)

Policy: TypeAlias = Callable[[Sequence[Any]], ChatMessage]
"""Answers messages."""


class ScriptedModel(Model):  # type: ignore[misc]  # smolagents is not in every checkout
    """Answers at once, and without tokens.

    Args:
        policy: What answers.
        model_id: What it is called.
    """

    def __init__(self, policy: Policy, model_id: str) -> None:
        super().__init__(model_id=model_id)
        self._policy = policy

    def generate(self, messages: Any, *_: Any, **__: Any) -> ChatMessage:
        """Answer."""
        return self._policy(messages)

    def generate_stream(self, messages: Any, *_: Any, **__: Any) -> Iterator[ChatMessageStreamDelta]:
        """Answer; a text comes in words."""
        answer = self._policy(messages)
        for word in str(answer.content or "").split(" "):
            yield ChatMessageStreamDelta(word)


def text_of(messages: Sequence[Any]) -> str:
    """Return what a conversation says, from the beginning."""
    parts = [part for message in messages for part in message.content or () if isinstance(part, dict)]
    return "\n".join(str(part.get("text", "")) for part in parts)


def says(text: str) -> ChatMessage:
    """Return an answer in words."""
    return ChatMessage(MessageRole.ASSISTANT, text)


def uses(*calls: tuple[str, dict[str, Any]]) -> ChatMessage:
    """Return an answer that calls tools, by name and arguments."""
    made = [
        ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), f"{name}-{place}", "function")
        for place, (name, arguments) in enumerate(calls, 1)
    ]
    return ChatMessage(MessageRole.ASSISTANT, tool_calls=made)


def ends(text: str) -> ChatMessage:
    """Return the final answer of an agent."""
    return uses(("final_answer", {"answer": text}))
