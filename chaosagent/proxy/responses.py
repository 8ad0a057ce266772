"""OpenAI's API of responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from chaosagent.proxy.chat_completions import ChatCompletions
from chaosagent.proxy.dialect import (
    Body,
    ToolResult,
    answer_text,
    arguments_of,
    arguments_text,
    calls_of,
    list_of,
    required,
    text_of,
    tool_of,
    without,
)
from chaosagent.proxy.sse import BrokenStreamError, Event, end_events, split_text

_LAST = ("response.completed", "response.incomplete", "response.failed")
_OWN = ("id", "created_at", "completed_at", "output", "status", "incomplete_details", "previous_response_id")


class Responses:
    """`POST /v1/responses`."""

    name = "responses"
    path = "/v1/responses"

    def answer_of(self, body: Mapping[str, Any]) -> Body:
        """See `Dialect`."""
        output, status = body.get("output"), body.get("status")
        required(status != "failed", f"it says that it failed: {body.get('error')!r:.300}")
        required(isinstance(output, list), "it has no list `output`")
        text, calls = "", []
        items: list[Body] = []
        for item in list_of(output):
            required(isinstance(item, dict) and isinstance(item.get("type"), str), "an item of its output has no type")
            said_here = text_of(item.get("content")) if item["type"] == "message" else None
            if item["type"] == "function_call":
                required(isinstance(item.get("name"), str), "a tool call of it has no name")
                calls.append({"name": item["name"], "arguments": arguments_of(item.get("arguments") or "{}")})
                items.append({"slot": "call"})
            elif said_here is not None and {"slot": "text"} not in items:
                text = said_here
                items.append({"slot": "text"})
            else:
                items.append({"item": without(item, "id")})
        more: Body = {"body": without(body, *_OWN)}
        if items != _usual(has_text=bool(text), call_count=len(calls)):
            more["items"] = items
        answer = {"content": text, "tool_calls": calls, "more": more}
        return {**answer, "finish_reason": _reason_of(body)}

    def body_of(self, answer: Mapping[str, Any], ask: str) -> Body:
        """See `Dialect`."""
        more, text, calls = answer.get("more") or {}, answer_text(answer), calls_of(answer)
        reason = answer.get("finish_reason") or "stop"
        whole = reason == "stop"
        left = [_call_to(call, f"{ask}_{number}") for number, call in enumerate(calls, 1)]
        usual = _usual(has_text=bool(text), call_count=len(calls))
        output: list[Body] = []
        for number, item in enumerate(more.get("items") or usual, 1):
            if item.get("slot") == "text" and text:
                output.append(_message(text, f"msg_{ask}", whole=whole))
                text = ""
            elif item.get("slot") == "call" and left:
                output.append(left.pop(0))
            elif "item" in item:
                output.append({"id": f"item_{ask}_{number}", **item["item"]})
        output += [_message(text, f"msg_{ask}", whole=whole)] if text else []
        usual_facts = {"object": "response", "model": "unknown", "parallel_tool_calls": True, "tool_choice": "auto"}
        facts = {**usual_facts, "tools": [], "error": None, "instructions": None, "metadata": {}}
        state: Body = {"status": "completed" if whole else "incomplete", "incomplete_details": None}
        if not whole:
            state["incomplete_details"] = {"reason": "max_output_tokens" if reason == "length" else reason}
        head = {"id": f"resp_{ask}", "created_at": 0}
        return {**facts, **more.get("body", {}), **head, **state, "output": [*output, *left]}

    def events_of(self, body: Body, request: Mapping[str, Any]) -> Iterator[Event]:  # noqa: ARG002  # the protocol's
        """See `Dialect`."""
        numbers = count()

        def event(kind: str, **data: Any) -> Event:
            return Event(kind, {"type": kind, "sequence_number": next(numbers), **data})

        begun = {**body, "status": "in_progress", "output": [], "incomplete_details": None, "usage": None}
        yield event("response.created", response=begun)
        yield event("response.in_progress", response=begun)
        for index, item in enumerate(body["output"]):
            empty = {**item, "status": "in_progress"} if "status" in item else item
            if item["type"] == "message":
                empty = {**empty, "content": []}
            elif item["type"] == "function_call":
                empty = {**empty, "arguments": ""}
            yield event("response.output_item.added", output_index=index, item=empty)
            at = {"item_id": item.get("id"), "output_index": index}
            if item["type"] == "function_call":
                for piece in split_text(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **at, delta=piece)
                done = {"name": item["name"], "arguments": item["arguments"]}
                yield event("response.function_call_arguments.done", **at, **done)
            for number, part in enumerate(item["content"] if item["type"] == "message" else ()):
                inside = {**at, "content_index": number}
                yield event("response.content_part.added", **inside, part={**part, "text": ""})
                for piece in split_text(part["text"]):
                    yield event("response.output_text.delta", **inside, delta=piece, logprobs=[])
                yield event("response.output_text.done", **inside, text=part["text"], logprobs=[])
                yield event("response.content_part.done", **inside, part=part)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event(f"response.{body['status']}", response=body)

    def gathered(self, events: Iterator[Event]) -> Body:
        """See `Dialect`."""
        last = next(event for event in reversed(end_events(events, _LAST)) if event.data.get("type") in _LAST)
        body = last.data.get("response")
        if not isinstance(body, dict):
            raise BrokenStreamError("the last event of its stream has no `response`")
        return body

    def tools_of(self, request: Mapping[str, Any]) -> list[Body]:
        """See `Dialect`."""
        return [tool_of(tool, "parameters") for tool in list_of(request.get("tools")) if _is_function(tool)]

    def with_tools(self, request: Body, tools: Sequence[Mapping[str, Any]]) -> None:
        """See `Dialect`."""
        others = [tool for tool in request["tools"] if not _is_function(tool)]
        request["tools"] = [*({"type": "function", **tool} for tool in tools), *others]

    def results_of(self, request: Body) -> list[ToolResult]:
        """See `Dialect`."""
        found: list[ToolResult] = []
        for item in list_of(request.get("input")):
            if isinstance(item, dict) and item.get("type") == "function_call_output":
                text = text_of(item.get("output"))
                if text is not None:

                    def replace(other: str, into: Body = item) -> None:
                        into["output"] = other

                    found.append(ToolResult(str(item.get("call_id")), text, replace))
        return found

    def error_body(self, status: int, message: str) -> Body:
        """See `Dialect`."""
        return ChatCompletions().error_body(status, message)


def _is_function(tool: object) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "function" and "name" in tool


def _usual(*, has_text: bool, call_count: int) -> list[Body]:
    """Return the order that most answers have: text, then calls."""
    return [{"slot": "text"}] * has_text + [{"slot": "call"}] * call_count


def _reason_of(body: Mapping[str, Any]) -> str:
    """Return why an answer ended, in the words of the older API."""
    if body.get("status") in (None, "completed"):
        return "stop"
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else body.get("status")
    return "length" if reason == "max_output_tokens" else str(reason)


def _message(text: str, message_id: str, *, whole: bool) -> Body:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    status = "completed" if whole else "incomplete"
    return {"type": "message", "id": message_id, "role": "assistant", "status": status, "content": [part]}


def _call_to(call: Mapping[str, Any], ask: str) -> Body:
    ids = {"type": "function_call", "id": f"fc_{ask}", "call_id": f"call_{ask}", "status": "completed"}
    return {**ids, "name": str(call.get("name")), "arguments": arguments_text(call.get("arguments"))}
