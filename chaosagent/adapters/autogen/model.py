"""Model clients of AutoGen behind doors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient, CreateResult

from chaosagent.errors import TargetError

Request = Callable[[Sequence[Any], Sequence[Any]], Awaitable[CreateResult]]
"""Asks the client itself, with messages and tools."""

Ask = Callable[[Any, Sequence[Any], Sequence[Any], Mapping[str, Any], Request], Awaitable[CreateResult]]
"""Takes a request through the door: the client, messages, tools, options, and how the client itself is asked."""

UNNAMED = "chat"


class DoorClient(ChatCompletionClient):  # type: ignore[misc]  # AutoGen is not in every checkout
    """A model client whose requests cross a door; for AutoGen it is that client.

    Args:
        inner: The client.
        ask: Takes a request through the door.
    """

    def __init__(self, inner: ChatCompletionClient, ask: Ask) -> None:
        self.inner, self._ask = inner, ask

    async def create(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] = (),
        tool_choice: Any = "auto",
        json_output: Any = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: Any = None,
    ) -> CreateResult:
        """See `ChatCompletionClient`."""
        options = _options(tool_choice, json_output, extra_create_args)

        async def request(messages: Sequence[Any], tools: Sequence[Any]) -> CreateResult:
            return await self.inner.create(messages, tools=tools, cancellation_token=cancellation_token, **options)

        return await self._ask(self.inner, messages, tools, options, request)

    async def create_stream(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] = (),
        tool_choice: Any = "auto",
        json_output: Any = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: Any = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """See `ChatCompletionClient`: the whole answer crosses, and its text comes as one chunk."""
        options = _options(tool_choice, json_output, extra_create_args)

        async def request(messages: Sequence[Any], tools: Sequence[Any]) -> CreateResult:
            stream = self.inner.create_stream(messages, tools=tools, cancellation_token=cancellation_token, **options)
            return await _last(stream)

        result = await self._ask(self.inner, messages, tools, options, request)
        if isinstance(result.content, str) and result.content:
            yield result.content
        yield result

    async def close(self) -> None:
        await self.inner.close()

    def actual_usage(self) -> Any:
        return self.inner.actual_usage()

    def total_usage(self) -> Any:
        return self.inner.total_usage()

    def count_tokens(self, messages: Sequence[Any], *, tools: Sequence[Any] = ()) -> int:
        return int(self.inner.count_tokens(messages, tools=tools))

    def remaining_tokens(self, messages: Sequence[Any], *, tools: Sequence[Any] = ()) -> int:
        return int(self.inner.remaining_tokens(messages, tools=tools))

    @property
    def capabilities(self) -> Any:
        """What the client can do, in its old form."""
        return self.inner.capabilities

    @property
    def model_info(self) -> Any:
        """What the client can do."""
        return self.inner.model_info

    def dump_component(self) -> Any:
        """Return the description of the client itself."""
        return self.inner.dump_component()


def model_name(client: Any) -> str:
    """Return the name of the model that a client asks; `chat` where it does not tell."""
    created = getattr(client, "_create_args", None)
    told = created.get("model") if isinstance(created, Mapping) else None
    names = (getattr(client, "model", None), getattr(client, "model_name", None), told)
    return next((name for name in names if isinstance(name, str) and name), UNNAMED)


def _options(tool_choice: Any, json_output: Any, extra: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"tool_choice": tool_choice, "json_output": json_output, "extra_create_args": extra or {}}


async def _last(stream: Any) -> CreateResult:
    result: CreateResult | None = None
    async for chunk in stream:
        result = chunk if isinstance(chunk, CreateResult) else result
    if result is None:
        raise TargetError("a model client of AutoGen ended its stream without a CreateResult. It must yield one last.")
    return result
