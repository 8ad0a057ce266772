"""Answers of models as the OpenAI Agents SDK has them, as plain data and back, without the ids that a server draws.

What crosses is `{"content": text, "tool_calls": [{"id", "name", "arguments"}], "items": [...], "usage": {...},
"response_id": ...}`. `items` are the parts of the answer in their order, with the length of each text in its place and
without what `tool_calls` says, so that every fact stands in one place and an operator that changes it changes the
answer. Nothing is lost but blanks and the order of names in the JSON of arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from agents import ModelBehaviorError, ModelResponse, Usage
from agents.models.fake_id import FAKE_RESPONSES_ID
from agents.usage import deserialize_usage, serialize_usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputItem,
    ResponseOutputItemDoneEvent,
    ResponseTextDeltaEvent,
    ResponseUsage,
)

from chaosagent.adapters.core.calls import arguments_text, calls_of, parsed_arguments
from chaosagent.adapters.core.drawn_ids import DrawnIds
from chaosagent.canonical import Plain

CALL = "function_call"
MESSAGE = "message"
_MADE = {"id": "msg", "call_id": "call", "approval_request_id": "mcpr"}
_ID_KEYS = tuple(_MADE)
_PREFIX = re.compile(r"[a-z]{2,}(?=_)|chatcmpl(?=-)")
_CLASSES: dict[str, Any] = {
    kind: item_class
    for item_class in get_args(get_args(ResponseOutputItem)[0])
    for kind in get_args(item_class.model_fields["type"].annotation)
}


class Names(DrawnIds):
    """Names for ids that a server or the library draws: `call_1`, `msg_2`."""

    def __init__(self) -> None:
        super().__init__()
        self._called: set[str] = set()

    def of_world(self, id_: str) -> str:
        """Return the name of an id that the world has made."""
        return self._named(id_, "")

    def of_agent(self, id_: str) -> str:
        """Return the name of an id that the agent has; what it brought along itself is counted apart.

        What the world named and an injection withheld is unknown in a replay: it must not change this count.
        """
        return self._named(id_, "own")

    def delivered(self, name: str, *, made: str = "", unique: bool = False) -> str:
        """Return the id that an agent is shown for a name that it is told.

        Args:
            name: What crossed; empty for something that an injection made.
            made: How the name of such a thing begins.
            unique: It names a call: one that was delivered before is another one now, as a model would make it.
        """
        if not name or (unique and name in self._called):
            name = self.next_name(_stem(name, made or "id", "new"))
        if unique:
            self._called.add(name)
        self.bind(name, name)
        return self.id_of(name)

    def plain(self) -> Plain:
        return [super().plain(), [*sorted(self._called)]]

    def item_of_world(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return an item of a conversation with names for the ids that the world gave it."""
        return self._with_ids(item, self.of_world)

    def item_of_agent(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return an item of a conversation with names for the ids that the agent has."""
        return self._with_ids(item, self.of_agent)

    def item(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return an item with the ids in it again."""
        return self._with_ids(item, self.id_of)

    def value(self, value: Any) -> Any:
        """Return arguments of a tool with names where a whole text is a known id."""
        if isinstance(value, str):
            return self._names.get(value, value)
        if isinstance(value, Mapping):
            return {key: self.value(part) for key, part in value.items()}
        return [self.value(part) for part in value] if isinstance(value, list) else value

    def value_with_ids(self, value: Any) -> Any:
        """Return arguments with the ids in them again."""
        if isinstance(value, str):
            return self.id_of(value)
        if isinstance(value, Mapping):
            return {key: self.value_with_ids(part) for key, part in value.items()}
        return [self.value_with_ids(part) for part in value] if isinstance(value, list) else value

    def _named(self, id_: str, infix: str) -> str:
        # The library knows its fake id by its text.
        return id_ if id_ == FAKE_RESPONSES_ID else self.name(id_, _stem(id_, "id", infix))

    @staticmethod
    def _with_ids(item: Mapping[str, Any], change: Any) -> dict[str, Any]:
        changed = dict(item)
        for key in _ID_KEYS:
            if isinstance(changed.get(key), str):
                changed[key] = change(changed[key])
        return changed


def _stem(id_: str, default: str, infix: str) -> str:
    """Return how the name of an id begins: as the id itself, or in a default way."""
    prefix = _PREFIX.match(id_)
    return f"{prefix.group() if prefix else default}_{infix}"


def as_plain(item: Any) -> dict[str, Any]:
    """Return an item of a conversation, which may be a mapping or one of the library's objects, as a mapping."""
    if isinstance(item, Mapping):
        return dict(item)
    return dict(item.model_dump(mode="json", exclude_unset=True, by_alias=True))


def answer_of(response: ModelResponse, names: Names) -> dict[str, Any]:
    """Return an answer of a model as plain data."""
    items: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    texts: list[str] = []
    for item in response.output:
        data = names.item_of_world(as_plain(item))
        if data.get("type") == CALL:
            arguments = parsed_arguments(data.pop("arguments", ""))
            calls.append({"id": data.pop("call_id", ""), "name": data.pop("name", ""), "arguments": arguments})
        elif data.get("type") == MESSAGE:
            data["content"] = [dict(part) for part in data.get("content") or ()]
            for part in _texts(data):
                texts.append(part["text"] or "")
                part["text"] = len(texts[-1])
        items.append(data)
    answer: dict[str, Any] = {"content": "".join(texts), "tool_calls": calls, "items": items}
    if response.usage != Usage():
        answer["usage"] = _without_zeros(serialize_usage(response.usage))
    for key, id_ in (("response_id", response.response_id), ("request_id", response.request_id)):
        if id_ is not None:
            answer[key] = names.of_world(id_)
    if response.raw_usage is not None:
        answer["raw_usage"] = response.raw_usage
    return answer


def response_of(answer: Any, names: Names) -> ModelResponse:
    """Return an answer as the library has it, made of what crossed.

    Raises:
        ModelBehaviorError: It is not an answer of a model any more.
    """
    if not isinstance(answer, Mapping):
        raise ModelBehaviorError(f"The model answered with {type(answer).__name__}, not with a message.")
    ids = {key: None if answer.get(key) is None else names.delivered(str(answer[key])) for key in _RESPONSE_IDS}
    return ModelResponse(
        output=[_item_of(data, names) for data in _filled(answer)],
        usage=deserialize_usage(answer["usage"]) if isinstance(answer.get("usage"), Mapping) else Usage(),
        response_id=ids["response_id"],
        request_id=ids["request_id"],
        raw_usage=answer.get("raw_usage"),
    )


_RESPONSE_IDS = ("response_id", "request_id")


def _filled(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of an answer with their texts and calls in them again."""
    calls = calls_of(answer)
    content = answer.get("content")
    text = content if isinstance(content, str) else "" if content is None else json.dumps(content)
    items = [dict(item) for item in answer.get("items") or () if isinstance(item, Mapping)]
    left, parts = text, [part for item in items if item.get("type") == MESSAGE for part in _copied_texts(item)]
    if sum(int(part["text"]) for part in parts) != len(text):
        for part in parts:
            part["text"] = 0
        for part in parts[:1]:
            part["text"] = len(text)
    for part in parts:
        part["text"], left = left[: int(part["text"])], left[int(part["text"]) :]
    if left:
        written = {"type": "output_text", "text": left, "annotations": []}
        items.insert(0, {"id": "", "type": MESSAGE, "role": "assistant", "status": "completed", "content": [written]})
    waiting = iter(calls)
    for item in items:
        if item.get("type") != CALL:
            yield item
        elif (call := next(waiting, None)) is not None:
            yield _call(item, call)
    for call in waiting:
        yield _call({"type": CALL}, call)


def _call(item: Mapping[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
    named = {"call_id": str(call.get("id") or ""), "name": str(call.get("name") or "")}
    return {**item, **named, "arguments": arguments_text(call.get("arguments"))}


def _item_of(data: dict[str, Any], names: Names) -> Any:
    for key in _ID_KEYS:
        if isinstance(data.get(key), str):
            data[key] = names.delivered(data[key], made=_MADE[key], unique=key == "call_id")
    item_class = _CLASSES.get(str(data.get("type")))
    return data if item_class is None else item_class.model_construct(**data)


def _texts(item: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    return [part for part in item.get("content") or () if part.get("type") == "output_text"]


def _copied_texts(item: dict[str, Any]) -> Iterable[dict[str, Any]]:
    item["content"] = [dict(part) for part in item.get("content") or ()]
    return _texts(item)


async def collect_answer(stream: Any) -> ModelResponse:
    """Wait for the end of a stream of events and return the whole answer.

    Raises:
        ModelBehaviorError: The stream ends without one.
    """
    done: list[Any] = []
    async for event in stream:
        if isinstance(event, ResponseOutputItemDoneEvent):
            done.append(event.item)
        if isinstance(event, ResponseCompletedEvent):
            response = event.response
            return ModelResponse(
                output=list(response.output or done),
                usage=_usage_of(response.usage),
                response_id=response.id,
                request_id=getattr(response, "_request_id", None),
            )
    raise ModelBehaviorError("The model's stream ended without a complete answer.")


def _usage_of(usage: ResponseUsage | None) -> Usage:
    if usage is None:
        return Usage(requests=1)
    facts = {**usage.model_dump(), "requests": 1}
    return deserialize_usage(facts)


def events_of(response: ModelResponse) -> Iterator[Any]:
    """Yield the events of a stream that tells an answer: each text at once, each part, and the whole."""
    number = 0
    for index, item in enumerate(response.output):
        for place, part in enumerate(_parts(item)):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                content_index=place,
                delta=part.text,
                item_id=item.id or "",
                logprobs=[],
                output_index=index,
                sequence_number=(number := number + 1),
            )
        yield ResponseOutputItemDoneEvent.model_construct(
            type="response.output_item.done", item=item, output_index=index, sequence_number=(number := number + 1)
        )
    usage = serialize_usage(response.usage)
    whole = Response.model_construct(
        id=response.response_id or "",
        created_at=0,
        model="",
        object="response",
        output=response.output,
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
        usage=ResponseUsage.model_construct(
            **{key: _first(usage.get(key)) for key in ResponseUsage.model_fields if key in usage}
        ),
    )
    yield ResponseCompletedEvent.model_construct(type="response.completed", response=whole, sequence_number=number + 1)


def _parts(item: Any) -> Sequence[Any]:
    content = getattr(item, "content", None)
    return [part for part in content or () if getattr(part, "type", "") == "output_text"]


def _without_zeros(value: Any) -> Any:
    """Return what a usage says beside nothing, which is most of it."""
    if isinstance(value, list):
        return [_without_zeros(part) for part in value]
    if not isinstance(value, dict):
        return value
    left = {key: _without_zeros(part) for key, part in value.items()}
    return {key: part for key, part in left.items() if part not in (0, None, [], [{}])}


def _first(value: Any) -> Any:
    """Return details of a usage, which the library writes as a list of one."""
    return value[0] if isinstance(value, list) and value else value
