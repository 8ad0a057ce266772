"""OpenAI's API of chat completions, which many other servers speak, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaosagent.proxy.dialect import (
    Body,
    ToolResult,
    arguments_of,
    arguments_text,
    calls_of,
    list_of,
    required,
    text_of,
    tool_of,
    without,
)
from chaosagent.proxy.sse import Event, end_events, split_text

_OWN = ("id", "object", "created", "system_fingerprint", "choices")


class ChatCompletions:
    """`POST /v1/chat/completions`."""

    name = "chat completions"
    path = "/v1/chat/completions"

    def answer_of(self, body: Mapping[str, Any]) -> Body:
        """See `Dialect`."""
        choices = list_of(body.get("choices"))
        first = choices[0] if choices else None
        message = first.get("message") if isinstance(first, dict) else None
        required(isinstance(message, dict), "it has no choices[0].message")
        assert isinstance(first, dict)
        assert isinstance(message, dict)
        calls = [_call_of(call) for call in list_of(message.get("tool_calls"))]
        more = {
            "body": without(body, *_OWN),
            "choice": without(first, "message", "finish_reason", "index"),
            "message": without(message, "role", "content", "tool_calls"),
            "choices": choices[1:],
        }
        answer = {"content": message.get("content"), "tool_calls": calls, "more": without(more)}
        return {**answer, "finish_reason": first.get("finish_reason") or ("tool_calls" if calls else "stop")}

    def body_of(self, answer: Mapping[str, Any], ask: str) -> Body:
        """See `Dialect`."""
        more, calls = answer.get("more") or {}, calls_of(answer)
        reason = answer.get("finish_reason") or "stop"
        if reason in ("stop", "tool_calls"):
            reason = "tool_calls" if calls else "stop"
        message: Body = {"role": "assistant", "content": answer.get("content"), **more.get("message", {})}
        if calls:
            message["tool_calls"] = [_call_to(call, f"call_{ask}_{number}") for number, call in enumerate(calls, 1)]
        choice = {"index": 0, "message": message, "finish_reason": reason, **more.get("choice", {})}
        head = {"id": f"chatcmpl-{ask}", "object": "chat.completion", "created": 0, "model": "unknown"}
        return {**head, **more.get("body", {}), "choices": [choice, *more.get("choices", [])]}

    def events_of(self, body: Body, request: Mapping[str, Any]) -> Iterator[Event]:
        """See `Dialect`."""
        choice = body["choices"][0]
        message = choice["message"]
        head = {**without(body, "choices", "usage"), "object": "chat.completion.chunk"}

        def chunk(delta: Body, reason: str | None = None) -> Event:
            return Event("", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

        yield chunk({"role": "assistant", "content": "", **without(message, "role", "content", "tool_calls")})
        for piece in split_text(message.get("content") or ""):
            yield chunk({"content": piece})
        for index, call in enumerate(message.get("tool_calls", ())):
            kind = call["type"]
            key = "arguments" if kind == "function" else "input"
            begun = {"index": index, "id": call["id"], "type": kind, kind: {**call[kind], key: ""}}
            yield chunk({"tool_calls": [begun]})
            for piece in split_text(call[kind][key]):
                yield chunk({"tool_calls": [{"index": index, kind: {key: piece}}]})
        yield chunk({}, choice["finish_reason"])
        wanted = request.get("stream_options")
        if isinstance(wanted, Mapping) and wanted.get("include_usage"):
            yield Event("", {**head, "choices": [], "usage": body.get("usage")})
        yield Event("", {})

    def gathered(self, events: Iterator[Event]) -> Body:
        """See `Dialect`."""
        body: Body = {}
        message: Body = {"role": "assistant", "content": None}
        calls: dict[int, Body] = {}
        reason = None
        for event in end_events(events, ()):
            body |= without(event.data, "choices")
            for choice in list_of(event.data.get("choices")):
                if not isinstance(choice, dict) or choice.get("index", 0):
                    continue
                reason = choice.get("finish_reason") or reason
                delta = choice.get("delta") or {}
                for name, value in delta.items():
                    if name == "tool_calls":
                        _add_calls(calls, list_of(value))
                    elif isinstance(value, str) and name != "role":
                        message[name] = (message.get(name) or "") + value
                    elif value is not None:
                        message[name] = value
        if calls:
            message["tool_calls"] = [calls[index] for index in sorted(calls)]
        return {**body, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}

    def tools_of(self, request: Mapping[str, Any]) -> list[Body]:
        """See `Dialect`."""
        given = [tool.get("function") for tool in list_of(request.get("tools")) if isinstance(tool, dict)]
        return [tool_of(tool, "parameters") for tool in given if isinstance(tool, dict) and "name" in tool]

    def with_tools(self, request: Body, tools: Sequence[Mapping[str, Any]]) -> None:
        """See `Dialect`."""
        others = [tool for tool in request["tools"] if not (isinstance(tool, dict) and "function" in tool)]
        request["tools"] = [*({"type": "function", "function": dict(tool)} for tool in tools), *others]

    def results_of(self, request: Body) -> list[ToolResult]:
        """See `Dialect`."""
        found: list[ToolResult] = []
        for message in list_of(request.get("messages")):
            if isinstance(message, dict) and message.get("role") == "tool":
                text = text_of(message.get("content"))
                if text is not None:

                    def replace(other: str, into: Body = message) -> None:
                        into["content"] = other

                    found.append(ToolResult(str(message.get("tool_call_id")), text, replace))
        return found

    def error_body(self, status: int, message: str) -> Body:
        """See `Dialect`."""
        kinds = {401: "authentication_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _call_of(call: object) -> Body:
    required(isinstance(call, dict), "a tool call of it is no object")
    assert isinstance(call, dict)
    kind = str(call.get("type") or "function")
    inside = call.get(kind)
    required(isinstance(inside, dict) and isinstance(inside.get("name"), str), "a tool call of it has no name")
    assert isinstance(inside, dict)
    if kind == "function":
        return {"name": inside["name"], "arguments": arguments_of(inside.get("arguments") or "{}")}
    return {"name": inside["name"], "arguments": inside.get("input") or "", "type": kind}


def _call_to(call: Mapping[str, Any], call_id: str) -> Body:
    kind, name = str(call.get("type") or "function"), str(call.get("name"))
    key = "arguments" if kind == "function" else "input"
    return {"id": call_id, "type": kind, kind: {"name": name, key: arguments_text(call.get("arguments"))}}


def _add_calls(calls: dict[int, Body], deltas: Sequence[Any]) -> None:
    """Add what one chunk says of tool calls."""
    for delta in deltas:
        call = calls.setdefault(int(delta.get("index", 0)), {"type": "function"})
        for name, value in delta.items():
            if isinstance(value, dict):
                inside = call.setdefault(name, {})
                for key, text in value.items():
                    joined = key in ("arguments", "input") and isinstance(inside.get(key), str)
                    inside[key] = inside[key] + text if joined else text
            elif value is not None:
                call[name] = value
