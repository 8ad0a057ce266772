"""Models of pydantic-ai behind doors."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic_ai.models import CompletedStreamedResponse, Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.client_errors import ModelErrors
from chaosagent.adapters.core.drawn_ids import CallIds
from chaosagent.adapters.core.sent import SentArguments
from chaosagent.adapters.pydantic_ai.agent_run import AgentRun
from chaosagent.adapters.pydantic_ai.errors import crossing_error, model_error
from chaosagent.adapters.pydantic_ai.messages import (
    messages_of,
    plain_answer,
    plain_messages,
    response_of,
)
from chaosagent.canonical import Plain

Request = Callable[[Any, Any, Any], Awaitable[Any]]
_SETTINGS = frozenset({"extra_headers", "extra_body"})
"""What may hold keys, and no answer should depend on."""


def behind_door(model: Model, agent_run: AgentRun) -> Model:
    """Return a model behind its door; of one that falls back to others, a copy with each of those behind its own."""
    if not isinstance(model, FallbackModel):
        return ModelBehindDoor(model, agent_run)
    copied = copy.copy(model)
    copied.models = [behind_door(one, agent_run) for one in model.models]
    return copied


class ModelBehindDoor(WrapperModel):  # type: ignore[misc]  # pydantic-ai is not in every checkout
    """A model whose requests cross a door.

    Args:
        wrapped: The model.
        agent_run: Whose doors.
    """

    def __init__(self, wrapped: Model, agent_run: AgentRun) -> None:
        super().__init__(wrapped)
        self._agent_run = agent_run

    async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> Any:
        """See `pydantic_ai.models.Model`."""
        given = (messages, model_settings, model_request_parameters)
        return await _asked(self._agent_run, self.wrapped.model_name, given, self.wrapped.request)

    @asynccontextmanager
    async def request_stream(
        self, messages: Any, model_settings: Any, model_request_parameters: Any, run_context: Any = None
    ) -> AsyncGenerator[Any]:
        """See `pydantic_ai.models.Model`: the whole answer crosses, and is streamed then."""

        async def whole(messages: Any, settings: Any, parameters: Any) -> Any:
            async with self.wrapped.request_stream(messages, settings, parameters, run_context) as stream:
                async for _ in stream:
                    pass
                return stream.get()

        given = (messages, model_settings, model_request_parameters)
        response = await _asked(self._agent_run, self.wrapped.model_name, given, whole)
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters, replay_events=True)


async def _asked(agent_run: AgentRun, model_name: str, given: tuple[Any, Any, Any], ask: Request) -> Any:
    """Ask a model through its door."""
    messages, settings, parameters = given
    ids = CallIds()
    request: dict[str, Plain] = {
        "messages": plain_messages(messages, ids),
        "tools": [tool.name for tool in (*parameters.function_tools, *parameters.output_tools)],
    }
    instructions = [part.content for part in parameters.instruction_parts or ()]
    if instructions:
        request["instructions"] = "\n\n".join(instructions)
    if plain_settings := _plain_settings(settings):
        request["settings"] = plain_settings
    sent = SentArguments(request)

    async def world(arguments: dict[str, Any]) -> Plain:
        """Ask the model itself; what an injection changed is made the framework's again."""
        changed = sent.changed(arguments)
        wanted = messages_of(changed["messages"], ids) if "messages" in changed else messages
        with_settings = {**(settings or {}), **changed["settings"]} if "settings" in changed else settings
        return plain_answer(await ask(wanted, with_settings, _with_changes(parameters, changed)), ids)

    crossings, agent = agent_run.crossings, agent_run.agent
    errors = ModelErrors(crossing_error, partial(model_error, model_name=model_name))
    await crossings.doors.settle()
    with crossings.acting(agent):
        answer = await crossings.model(model_name, request, world, errors=errors)
        response = response_of(answer, ids)
        crossings.provenance.of_model_since(agent, [call.tool_call_id for call in response.tool_calls])
    return response


def _plain_settings(settings: Any) -> dict[str, Plain]:
    """Return the settings of a request that are plain data."""
    found = {name: value for name, value in (settings or {}).items() if name not in _SETTINGS}
    dumped = to_jsonable_python(found, serialize_unknown=True)
    return {name: value for name, value in sorted(dumped.items()) if _is_plain(found[name])}


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_plain(item) for item in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, bool | int | float | str)


def _with_changes(parameters: Any, changed: Mapping[str, Any]) -> Any:
    """Return the parameters of a request without the tools that were taken out, and with other instructions."""
    if isinstance(left := changed.get("tools"), list):
        parameters = replace(
            parameters,
            function_tools=[tool for tool in parameters.function_tools if tool.name in left],
            output_tools=[tool for tool in parameters.output_tools if tool.name in left],
        )
    if isinstance(text := changed.get("instructions"), str) and parameters.instruction_parts:
        first = replace(parameters.instruction_parts[0], content=text)
        parameters = replace(parameters, instruction_parts=[first])
    return parameters
