"""Anthropic's API of messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaosagent.proxy.dialect import (
    Body,
    ToolResult,
    answer_text,
    calls_of,
    list_of,
    required,
    text_of,
    tool_of,
    without,
)
from chaosagent.proxy.parse_json import parse_json
from chaosagent.proxy.sse import BrokenStreamError, Event, end_events, split_text

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
INVALID = "INVALID_JSON"
"""Under this key the API's documentation puts arguments that are no JSON object."""


class Messages:
    """`POST /v1/messages`."""

    name = "messages"
    path = "/v1/messages"

    def answer_of(self, body: Mapping[str, Any]) -> Body:
        """See `Dialect`."""
        blocks = body.get("content")
        required(isinstance(blocks, list), "it has no list `content`")
        texts, calls, rest = [], [], []
        for block in list_of(blocks):
            required(isinstance(block, dict) and isinstance(block.get("type"), str), "a block of it has no type")
            if block["type"] == "text" and not without(block, "type", "text"):
                texts.append(str(block.get("text", "")))
                rest.append({"slot": "text"})
            elif block["type"] == "tool_use":
                required(isinstance(block.get("name"), str), "a tool call of it has no name")
                calls.append({"name": block["name"], "arguments": block.get("input") or {}})
                rest.append({"slot": "call"})
            else:
                rest.append({"block": block})
        more: Body = {"body": without(body, "id", "type", "role", "content", "stop_reason")}
        if rest != _usual(bool(texts), len(calls)):
            more["blocks"] = [*rest, {"texts": texts}] if len(texts) > 1 else rest
        answer = {"content": "".join(texts), "tool_calls": calls, "more": without(more)}
        return {**answer, "stop_reason": body.get("stop_reason") or ("tool_use" if calls else "end_turn")}

    def body_of(self, answer: Mapping[str, Any], ask: str) -> Body:
        """See `Dialect`."""
        more, calls, text = answer.get("more") or {}, calls_of(answer), answer_text(answer)
        reason = answer.get("stop_reason") or "end_turn"
        if reason in ("end_turn", "tool_use"):
            reason = "tool_use" if calls else "end_turn"
        uses = [_use(call, f"toolu_{ask}_{number}") for number, call in enumerate(calls, 1)]
        head = {"id": f"msg_{ask}", "type": "message", "role": "assistant", "model": "unknown"}
        usage = {"stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0}}
        content = _filled(more.get("blocks") or _usual(bool(text), len(uses)), text, uses)
        return {**head, **usage, **more.get("body", {}), "content": content, "stop_reason": reason}

    def events_of(self, body: Body, request: Mapping[str, Any]) -> Iterator[Event]:  # noqa: ARG002  # the protocol's
        """See `Dialect`."""

        def event(kind: str, **data: Any) -> Event:
            return Event(kind, {"type": kind, **data})

        usage = body.get("usage") or {}
        begun = {**body, "content": [], "stop_reason": None, "stop_sequence": None}
        yield event("message_start", message={**begun, "usage": {**usage, "output_tokens": 1}})
        for index, block in enumerate(body["content"]):
            empty, deltas = _streamed(block)
            yield event("content_block_start", index=index, content_block=empty)
            for delta in deltas:
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        why = {"stop_reason": body["stop_reason"], "stop_sequence": body.get("stop_sequence")}
        yield event("message_delta", delta=why, usage={"output_tokens": usage.get("output_tokens", 0)})
        yield event("message_stop")

    def gathered(self, events: Iterator[Event]) -> Body:
        """See `Dialect`."""
        body: Body = {}
        blocks: dict[int, Body] = {}
        texts: dict[int, str] = {}
        for event in end_events(events, ("message_stop",)):
            data, kind = event.data, event.data.get("type")
            index = data.get("index", 0)
            if kind == "message_start":
                body = dict(data.get("message") or {})
            elif kind == "content_block_start":
                blocks[index] = dict(data.get("content_block") or {})
            elif kind == "content_block_delta":
                delta = data.get("delta") or {}
                if delta.get("type") == "input_json_delta":
                    texts[index] = texts.get(index, "") + str(delta.get("partial_json", ""))
                elif delta.get("type") in _DELTAS:
                    name = _DELTAS[delta["type"]]
                    blocks[index][name] = str(blocks[index].get(name) or "") + str(delta.get(name, ""))
            elif kind == "message_delta":
                body |= without(data.get("delta") or {})
                body["usage"] = {**(body.get("usage") or {}), **(data.get("usage") or {})}
        for index, text in texts.items():
            blocks[index]["input"] = _input_of(text)
        return {**body, "content": [blocks[index] for index in sorted(blocks)]}

    def tools_of(self, request: Mapping[str, Any]) -> list[Body]:
        """See `Dialect`."""
        return [tool_of(tool, "input_schema") for tool in list_of(request.get("tools")) if _is_own(tool)]

    def with_tools(self, request: Body, tools: Sequence[Mapping[str, Any]]) -> None:
        """See `Dialect`."""
        others = [tool for tool in request["tools"] if not _is_own(tool)]
        told = [{**without(tool, "parameters"), "input_schema": tool.get("parameters") or {}} for tool in tools]
        request["tools"] = [*told, *others]

    def results_of(self, request: Body) -> list[ToolResult]:
        """See `Dialect`."""
        found: list[ToolResult] = []
        for message in list_of(request.get("messages")):
            for block in list_of(message.get("content")) if isinstance(message, dict) else ():
                text = text_of(block.get("content")) if isinstance(block, dict) else None
                if text is not None and block.get("type") == "tool_result":

                    def replace(other: str, into: Body = block) -> None:
                        into["content"] = other

                    found.append(ToolResult(str(block.get("tool_use_id")), text, replace))
        return found

    def error_body(self, status: int, message: str) -> Body:
        """See `Dialect`."""
        kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def _is_own(tool: object) -> bool:
    """Whether a tool is one of the agent's; those that the API runs have a type of their own."""
    return isinstance(tool, dict) and "name" in tool and tool.get("type") in (None, "custom")


def _usual(has_text: bool, call_count: int) -> list[Body]:  # noqa: FBT001  # one of two, as in the list
    """Return the order that most answers have: text, then calls."""
    return [{"slot": "text"}] * has_text + [{"slot": "call"}] * call_count


def _filled(blocks: Sequence[Body], text: str, uses: Sequence[Body]) -> list[Body]:
    """Return the blocks of an answer; what an injection added stands behind, what it took away is missing."""
    left, filled, texts = list(uses), [], _texts(blocks, text)
    for block in blocks:
        if block.get("slot") == "text" and texts:
            said_here = texts.pop(0)
            if said_here:
                filled.append({"type": "text", "text": said_here})
        elif block.get("slot") == "call" and left:
            filled.append(left.pop(0))
        elif "block" in block:
            filled.append(block["block"])
    filled += [{"type": "text", "text": other} for other in texts if other]
    return [*filled, *left]


def _texts(blocks: Sequence[Body], text: str) -> list[str]:
    """Return the text by blocks, as it was where it is unchanged."""
    known = next((list_of(block["texts"]) for block in blocks if "texts" in block), [text])
    return list(known) if "".join(known) == text else [text]


def _use(call: Mapping[str, Any], use_id: str) -> Body:
    arguments = call.get("arguments")
    given = dict(arguments) if isinstance(arguments, Mapping) else {INVALID: str(arguments or "")}
    return {"type": "tool_use", "id": use_id, "name": str(call.get("name")), "input": given}


def _streamed(block: Body) -> tuple[Body, list[Body]]:
    """Return how a block begins, and what is added to it."""
    kind = block.get("type")
    if kind == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in split_text(block["text"])]
    if kind == "tool_use":
        given = block["input"]
        text = given[INVALID] if set(given) == {INVALID} else json.dumps(given, ensure_ascii=False)
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": piece} for piece in split_text(text)
        ]
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in split_text(str(block.get("thinking", "")))]
        signed = {"type": "signature_delta", "signature": block.get("signature", "")}
        return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
    return block, []


def _input_of(text: str) -> Any:
    try:
        return parse_json(text or "{}")
    except ValueError as error:
        raise BrokenStreamError(f"the arguments of a tool call in its stream are no JSON: {text[:80]!r}") from error
