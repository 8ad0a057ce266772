"""A LangChain model behind a door: what it is asked and what it answers, as plain data and back."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableBinding
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.calls import answer_from, calls_of, next_ids
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.adapters.langgraph.plain import Codec
from chaosagent.canonical import Plain

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}

Ask = Callable[[list[BaseMessage], dict[str, Any]], Any]
"""Asks the model itself, with messages and options."""


class DoorModel(BaseChatModel):  # type: ignore[misc]  # LangChain is not in every checkout
    """A model that asks another one through a door; for the agent it is that model.

    Attributes:
        inner: The model.
        cross: Takes messages, options and the way to ask the model itself through the door.
        now: Runs something asynchronous where the caller is not.
    """

    inner: Any
    cross: Callable[[list[BaseMessage], dict[str, Any], Ask], Awaitable[ChatResult]]
    now: Callable[[Callable[[], Awaitable[Any]]], Any]

    @classmethod
    def around(cls, inner: Any, cross: Any, now: Any) -> DoorModel:
        """Return a model with a door before it and with the settings of that model."""
        shared = {name: getattr(inner, name) for name in BaseChatModel.model_fields if hasattr(inner, name)}
        return cls(**shared, inner=inner, cross=cross, now=now)

    @property
    def _llm_type(self) -> str:
        return str(self.inner._llm_type)

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.inner._identifying_params)

    @property
    def model_name(self) -> str:
        """The name by which LangChain knows what a model can do."""
        names = (getattr(self.inner, name, None) for name in ("model_name", "model", "model_id"))
        return next((name for name in names if isinstance(name, str)), "")

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Let the model itself write down its tools, and come before it."""
        bound = self.inner.bind_tools(tools, **options)
        if not isinstance(bound, RunnableBinding):
            return self if bound is self.inner else DoorModel.around(bound, self.cross, self.now)
        outer = self if bound.bound is self.inner else DoorModel.around(bound.bound, self.cross, self.now)
        return outer.bind(**bound.kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        def ask(asked: list[BaseMessage], given: dict[str, Any]) -> Any:
            return self.inner._generate(asked, run_manager=run_manager, **given)

        return self.now(lambda: self.cross(messages, _with_stop(options, stop), ask))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        native = type(self.inner)._agenerate is not BaseChatModel._agenerate
        manager = run_manager if native or run_manager is None else run_manager.get_sync()

        def ask(asked: list[BaseMessage], given: dict[str, Any]) -> Any:
            generate = self.inner._agenerate if native else self.inner._generate
            return generate(asked, run_manager=manager, **given)

        ask.native = native  # type: ignore[attr-defined]  # a function has room for it
        return await self.cross(messages, _with_stop(options, stop), ask)


def _with_stop(options: dict[str, Any], stop: list[str] | None) -> dict[str, Any]:
    return options if stop is None else {**options, "stop": stop}


def request_of(messages: Sequence[BaseMessage], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model is asked; the ids of messages, and what was told of earlier answers, stay out of it."""
    request: dict[str, Any] = {"messages": [_plain_message(message) for message in messages]}
    for name, value in options.items():
        if value is None:
            continue
        if name == "tools":
            request["tools"] = [describe_tool(tool)["name"] for tool in value]
        else:
            request[name] = to_jsonable_python(value, fallback=lambda other: type(other).__name__)
    return request


def _plain_message(message: BaseMessage) -> dict[str, Any]:
    found: dict[str, Any] = {"role": _ROLES.get(message.type, message.type), "content": message.content}
    if message.name:
        found["name"] = message.name
    if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        found["tool_calls"] = [{"id": call["id"], "name": call["name"], "arguments": call["args"]} for call in calls]
    if isinstance(message, ToolMessage):
        found["tool_call_id"] = message.tool_call_id
        if message.status != "success":
            found["status"] = message.status
    made: dict[str, Any] = to_jsonable_python(found)
    return made


def messages_from(altered: Any, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages that are left of those that were to be sent; equal ones are the same ones."""
    left: list[BaseMessage] = []
    originals = [(_plain_message(message), message) for message in messages]
    for given in altered:
        same = next((message for known, message in originals if known == given), None)
        if same is None:
            (same,) = convert_to_messages([{key: value for key, value in given.items() if key != "tool_calls"}])
            near = next((message for known, message in originals if _is_near(known, given)), None)
            same = same if near is None else near.model_copy(update={"content": given["content"]})
        left.append(same)
    return left


def _is_near(known: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether nothing but the content differs."""
    return {**known, "content": None} == {**given, "content": None}


def describe_tool(tool: Any) -> dict[str, Any]:
    """Return name and description of a tool, in whatever form a model gets it."""
    if not isinstance(tool, Mapping):
        return {"name": str(getattr(tool, "name", tool)), "description": str(getattr(tool, "description", ""))}
    inside = tool.get("function", tool)
    name = inside.get("name") or tool.get("type", "")
    return {"name": str(name), "description": str(inside.get("description") or "")}


def tools_from(told: Any, tools: Sequence[Any]) -> list[Any]:
    """Return the tools that a model gets, in its own form; an unknown one is described as a function."""
    return as_listed(told, tools, describe_tool, _altered, _invented)


def _altered(tool: Any, given: Mapping[str, Any]) -> Any:
    if not isinstance(tool, Mapping):
        return tool
    if "function" in tool:
        return {**tool, "function": {**tool["function"], "description": given.get("description")}}
    return {**tool, "description": given.get("description")}


def _invented(given: Mapping[str, Any]) -> Any:
    schema = given.get("parameters") or {"type": "object", "properties": {}}
    function = {"name": given.get("name"), "description": given.get("description"), "parameters": schema}
    return {"type": "function", "function": function}


def asking(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Return the id of the message that asked, by the id of the call; the last one, where there are two."""
    return {
        call["id"]: message.id or ""
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"]
    }


def results_in(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Return the ids of the calls whose results a model is shown, each with the id of the message that asked for it."""
    asked_in = asking(messages)
    return [(call_id, asked_in.get(call_id, "")) for call_id in (getattr(one, "tool_call_id", "") for one in messages)]


def answer_of(result: ChatResult, codec: Codec) -> dict[str, Plain]:
    """Return what a model answered; calls of tools have their place instead of an id."""
    generation = result.generations[0]
    message = generation.message
    fields = codec.fields(message)
    calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
    places = {call["id"]: f"$call-{place}" for place, call in enumerate(calls) if call["id"]}
    told: list[Plain] = [{"name": call["name"], "arguments": codec.encode(call["args"])} for call in calls]
    for name in ("kind", "id", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "chunk_position"):
        fields.pop(name, None)
    answer: dict[str, Plain] = {"content": _swapped(fields.pop("content", ""), places), "tool_calls": told}
    if fields:
        answer["fields"] = _swapped(fields, places)
    if generation.generation_info:
        answer["generation_info"] = to_jsonable_python(generation.generation_info, fallback=str)
    return answer


def result_from(answer: Any, messages: Sequence[BaseMessage], codec: Codec) -> ChatResult:
    """Return an answer as LangChain's own; ids of calls follow from the conversation."""
    answer = answer_from(answer)
    calls = calls_of(answer)
    ids = _ids_after(messages, len(calls))
    places = {f"$call-{place}": given for place, given in enumerate(ids)}
    good, bad = [], []
    for call, given in zip(calls, ids, strict=True):
        name, arguments, error = str(call.get("name", "")), call.get("arguments"), ""
        if isinstance(arguments, str):
            arguments, error = _parsed(name, arguments)
        if error:
            bad.append({"name": name, "args": arguments, "id": given, "error": error, "type": "invalid_tool_call"})
        else:
            given_arguments = codec.decode(arguments) if isinstance(arguments, Mapping) else {}
            good.append({"name": name, "args": given_arguments, "id": given, "type": "tool_call"})
    content = codec.decode(_swapped(answer.get("content") or "", places))
    fields = codec.decode(_swapped(answer.get("fields") or {}, places))
    message = AIMessage(
        content=content, tool_calls=good, invalid_tool_calls=bad, **fields, id=f"lc_run--{uuid.uuid4()}"
    )
    codec.names.alias("message", message.id)
    info = answer.get("generation_info")
    return ChatResult(generations=[ChatGeneration(message=message, generation_info=dict(info) if info else None)])


def _parsed(name: str, text: str) -> tuple[Any, str]:
    """Return arguments, or the text and what LangChain says of a text that is no JSON."""
    try:
        return json.loads(text) if text else {}, ""
    except json.JSONDecodeError as error:
        told = f"Function {name} arguments:\n\n{text}\n\nare not valid JSON. Received JSONDecodeError {error}"
        return text, told


def _ids_after(messages: Sequence[BaseMessage], count: int) -> list[str]:
    """Return ids of the next calls in a conversation: those before are counted, and none is given twice."""
    asked = [message for message in messages if isinstance(message, AIMessage)]
    taken = {call["id"] for message in asked for call in (*message.tool_calls, *message.invalid_tool_calls)}
    return next_ids(taken, count)


def _swapped(value: Any, names: Mapping[str, str]) -> Any:
    """Return plain data with some texts replaced, wherever they stand."""
    if not names:
        return value
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {key: _swapped(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_swapped(item, names) for item in value]
    return value
