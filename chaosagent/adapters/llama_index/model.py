"""Models of LlamaIndex behind doors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import PrivateAttr

from chaosagent.adapters.core.calls import parsed_arguments
from chaosagent.errors import TargetError

Ask = Callable[[Sequence[Any], Sequence[Any]], Awaitable[Any]]
"""Asks the model itself, with messages and tools."""

Cross = Callable[[Any, Sequence[Any], Sequence[Any], Ask], Awaitable[Any]]
"""Takes a request through the door: the model, messages, tools, and how the model itself is asked."""


class DoorModel(FunctionCallingLLM):  # type: ignore[misc]  # LlamaIndex is not in every checkout
    """A model whose requests cross a door; for LlamaIndex it is that model."""

    _inner: Any = PrivateAttr()
    _cross: Cross = PrivateAttr()

    @classmethod
    def around(cls, inner: Any, cross: Cross) -> DoorModel:
        """Return a model with a door before another one."""
        made = cls()
        made._inner, made._cross = inner, cross
        return made

    @property
    def metadata(self) -> Any:
        """What the model can do."""
        return self._inner.metadata

    async def achat_with_tools(
        self, tools: Sequence[Any], user_msg: Any = None, chat_history: Any = None, **options: Any
    ) -> Any:
        """Ask the model, with tools that it may call."""

        async def ask(messages: Sequence[Any], tools: Sequence[Any]) -> Any:
            return await self._inner.achat_with_tools(list(tools), chat_history=list(messages), **options)

        return await self._cross(self._inner, _conversation(user_msg, chat_history), tools, ask)

    async def astream_chat_with_tools(
        self, tools: Sequence[Any], user_msg: Any = None, chat_history: Any = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Ask the model: the whole answer crosses, and comes as one chunk."""

        async def ask(messages: Sequence[Any], tools: Sequence[Any]) -> Any:
            stream = await self._inner.astream_chat_with_tools(list(tools), chat_history=list(messages), **options)
            return await _last(stream)

        response = await self._cross(self._inner, _conversation(user_msg, chat_history), tools, ask)
        return _once(response)

    async def achat(self, messages: Sequence[Any], **options: Any) -> Any:
        """Ask the model without tools."""

        async def ask(messages: Sequence[Any], _: Sequence[Any]) -> Any:
            return await self._inner.achat(list(messages), **options)

        return await self._cross(self._inner, messages, (), ask)

    async def astream_chat(self, messages: Sequence[Any], **options: Any) -> AsyncIterator[Any]:
        """Ask the model without tools: the whole answer crosses, and comes as one chunk."""

        async def ask(messages: Sequence[Any], _: Sequence[Any]) -> Any:
            return await _last(await self._inner.astream_chat(list(messages), **options))

        return _once(await self._cross(self._inner, messages, (), ask))

    def get_tool_calls_from_response(self, response: Any, *args: Any, **options: Any) -> list[ToolSelection]:
        """Return the calls of tools in an answer that has crossed."""
        blocks = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        if not blocks and (args[0] if args else options.get("error_on_no_tool_call", True)):
            raise ValueError("Expected at least one tool call, but got 0 tool calls.")
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=_arguments(block.tool_kwargs)
            )
            for block in blocks
        ]

    def _prepare_chat_with_tools(self, *args: Any, **options: Any) -> Any:
        return self._inner._prepare_chat_with_tools(*args, **options)

    def chat(self, *_: Any, **__: Any) -> Any:
        """As all that follows, refuse: nothing of it would cross."""
        raise _refusal("chat")

    def stream_chat(self, *_: Any, **__: Any) -> Any:
        raise _refusal("stream_chat")

    def complete(self, *_: Any, **__: Any) -> Any:
        raise _refusal("complete")

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        raise _refusal("stream_complete")

    async def acomplete(self, *_: Any, **__: Any) -> Any:
        raise _refusal("acomplete")

    async def astream_complete(self, *_: Any, **__: Any) -> Any:
        raise _refusal("astream_complete")


def model_name(model: Any) -> str:
    """Return the name of a model, of its class where it has none."""
    names = (getattr(model, "model", None), model.metadata.model_name)
    return next((name for name in names if isinstance(name, str) and name != "unknown"), type(model).__name__)


def _conversation(user_msg: Any, chat_history: Any) -> list[Any]:
    said = [ChatMessage(role="user", content=user_msg)] if isinstance(user_msg, str) else [user_msg] if user_msg else []
    return [*(chat_history or ()), *said]


def _arguments(given: Any) -> Any:
    parsed = parsed_arguments(given)
    return parsed if isinstance(parsed, dict) else {}


async def _last(stream: Any) -> Any:
    response = None
    async for chunk in stream:
        response = chunk
    if response is None:
        raise TargetError("a model of LlamaIndex ended its stream without an answer. It must yield one.")
    return response


async def _once(response: Any) -> AsyncIterator[Any]:
    yield response


def _refusal(method: str) -> TargetError:
    return TargetError(
        f"a model of LlamaIndex is asked by `{method}`, which does not cross a door. Use `achat`, `astream_chat` or "
        "their forms with tools."
    )
