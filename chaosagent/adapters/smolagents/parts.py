"""The parts of an agent of smolagents that stand behind doors: its model, its tools and the agents that it manages."""

from __future__ import annotations

import copy
import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from smolagents import Model
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCallStreamDelta,
    agglomerate_stream_deltas,
)

from chaosagent.adapters.core.annotated import plain_result, rebuilt, returned_by
from chaosagent.adapters.core.sent import SentArguments
from chaosagent.canonical import Plain

Call = Callable[[str, dict[str, Any], Callable[[dict[str, Any]], Plain]], Any]
"""Takes a call through its door: the name, the arguments, and what makes the call itself."""

Request = Callable[[Sequence[Any], Sequence[Any]], ChatMessage]
"""Asks the model itself, with messages and tools."""

Ask = Callable[[Any, Sequence[Any], Sequence[Any], Mapping[str, Any], Request], ChatMessage]
"""Takes a request through the door: the model, messages, tools, options, and how the model itself is asked."""


class DoorModel(Model):  # type: ignore[misc]  # smolagents is not in every checkout
    """A model whose requests cross a door; for smolagents it is that model.

    Args:
        inner: The model.
        ask: Takes a request through the door.
        ids: Gives ids to so many calls that were found in a text.
    """

    def __init__(self, inner: Any, ask: Ask, ids: Callable[[int], list[str]]) -> None:
        self.inner, self._ask, self._ids = inner, ask, ids

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":  # asked for while a copy is made
            raise AttributeError(name)
        return getattr(self.inner, name)

    def generate(
        self,
        messages: Any,
        stop_sequences: Any = None,
        response_format: Any = None,
        tools_to_call_from: Any = None,
        **more: Any,
    ) -> ChatMessage:
        """Ask the model."""
        return self._asked(self.inner.generate, messages, stop_sequences, response_format, tools_to_call_from, more)

    def generate_stream(
        self,
        messages: Any,
        stop_sequences: Any = None,
        response_format: Any = None,
        tools_to_call_from: Any = None,
        **more: Any,
    ) -> Iterator[ChatMessageStreamDelta]:
        """Ask the model: the whole answer crosses, and comes as one piece."""

        def whole(*given: Any, **options: Any) -> ChatMessage:
            return agglomerate_stream_deltas(list(self.inner.generate_stream(*given, **options)))

        message = self._asked(whole, messages, stop_sequences, response_format, tools_to_call_from, more)
        calls = [
            ChatMessageToolCallStreamDelta(index, call.id, call.type, call.function)
            for index, call in enumerate(message.tool_calls or ())
        ]
        yield ChatMessageStreamDelta(message.content, calls or None, message.token_usage)

    def parse_tool_calls(self, message: ChatMessage) -> ChatMessage:
        """Find calls in a text, as the model itself does it."""
        parsed: ChatMessage = self.inner.parse_tool_calls(message)
        listed = parsed.tool_calls or []
        for call, id_ in zip(listed, self._ids(len(listed)), strict=True):
            call.id = id_  # smolagents draws it
        return parsed

    def _asked(self, ask: Any, messages: Any, stop: Any, form: Any, tools: Any, more: Mapping[str, Any]) -> ChatMessage:
        fixed = {"stop_sequences": stop, "response_format": form, **more}
        given = {name: value for name, value in fixed.items() if value is not None}

        def request(messages: Sequence[Any], tools: Sequence[Any]) -> ChatMessage:
            told = {"tools_to_call_from": list(tools)} if tools else {}
            message: ChatMessage = ask(list(messages), **given, **told)
            return message

        return self._ask(self.inner, messages, tools or [], given, request)


class DoorAgent:
    """A managed agent that is handed its tasks through a door; for its manager it is that agent.

    Args:
        inner: The agent, with doors of its own.
        call: Takes a task through the door.
    """

    def __init__(self, inner: Any, call: Call) -> None:
        self.inner, self._call = inner, call
        self.name, self.description = inner.name, inner.description
        self.inputs, self.output_type = inner.inputs, inner.output_type

    def __call__(self, task: Any, **options: Any) -> Any:
        """Hand a task over."""
        sent = {"task": task, **options}

        def world(given: dict[str, Any]) -> Plain:
            return typing.cast(Plain, self.inner(**given))

        return self._call(self.name, sent, world)


def door_tool(tool: Any, call: Call) -> Any:
    """Return a copy of a tool whose function stands behind a door; what smolagents puts around that stays before it."""
    made = copy.copy(tool)
    signature = inspect.signature(tool.forward)
    annotation = returned_by(tool.forward)

    @functools.wraps(tool.forward)
    def forward(*positional: Any, **named: Any) -> Any:
        arguments = _named(signature, list(tool.inputs), positional, named)
        sent = SentArguments(arguments)

        def world(given: dict[str, Any]) -> Plain:
            if not tool.is_initialized:
                tool.setup()
            result = tool.forward(*positional, **named) if sent.is_left(given) else tool.forward(**given)
            return plain_result(result, annotation, str(result))

        return rebuilt(call(tool.name, arguments, world), annotation)

    made.forward, made.is_initialized = forward, True
    return made


def _named(
    signature: inspect.Signature, inputs: Sequence[str], positional: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return arguments by name, with the defaults of those that were left out."""
    parameters = [one for one in signature.parameters.values() if one.name != "self"]  # functions made tools have it
    is_open = any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)
    names = list(inputs) if is_open else [one.name for one in parameters]
    found = {**dict(zip(names, positional, strict=False)), **named}
    for one in parameters:
        if one.default is not one.empty:
            found.setdefault(one.name, one.default)
    return found
