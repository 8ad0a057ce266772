"""A model client of AutoGen that a function answers for: a policy in the place of a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeAlias

from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, ModelFamily, ModelInfo, RequestUsage

from chaosagent.adapters.core.calls import arguments_text

Policy: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], CreateResult]
"""Answers messages, with tools that may be called."""

_INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    family=ModelFamily.UNKNOWN,
    structured_output=False,
    multiple_system_messages=True,
)


class ScriptedClient(ChatCompletionClient):  # type: ignore[misc]  # AutoGen is not in every checkout
    """Answers at once, and without tokens.

    Args:
        policy: What answers.
        model: What its model is called.
    """

    def __init__(self, policy: Policy, model: str) -> None:
        self._policy, self.model = policy, model

    async def create(self, messages: Sequence[Any], *, tools: Sequence[Any] = (), **_: Any) -> CreateResult:
        """Answer."""
        return self._policy(messages, tools)

    async def create_stream(
        self, messages: Sequence[Any], *, tools: Sequence[Any] = (), **_: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Answer; a text comes in words."""
        result = self._policy(messages, tools)
        for word in result.content.split(" ") if isinstance(result.content, str) else ():
            yield word
        yield result

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[Any], **_: Any) -> int:
        return len(messages)

    def remaining_tokens(self, messages: Sequence[Any], **_: Any) -> int:
        return 1_000 - len(messages)

    @property
    def capabilities(self) -> Any:
        """What it can do, in the old form."""
        return _INFO

    @property
    def model_info(self) -> Any:
        """What it can do."""
        return _INFO


def says(text: str) -> CreateResult:
    """Return an answer in words."""
    return CreateResult(finish_reason="stop", content=text, usage=_nothing(), cached=False)


def uses(*calls: tuple[str, dict[str, Any]]) -> CreateResult:
    """Return an answer that calls tools, by name and arguments."""
    made = [
        FunctionCall(id=f"{name}-{place}", name=name, arguments=arguments_text(arguments))
        for place, (name, arguments) in enumerate(calls, 1)
    ]
    return CreateResult(finish_reason="function_calls", content=made, usage=_nothing(), cached=False)


def _nothing() -> RequestUsage:
    return RequestUsage(prompt_tokens=0, completion_tokens=0)
