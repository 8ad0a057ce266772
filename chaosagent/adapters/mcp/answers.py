"""What MCP servers answer, as plain data that operators understand, and back.

An answer of a tool crosses as what the tool means, and comes back as the result that a server makes of it:

===========================  =======================================================================================
crosses as                   result of `tools/call`
===========================  =======================================================================================
a mapping                    `structuredContent`, and its text as the Python SDK writes it
a text                       one text
`{"<form>": value}`          JSON in another form: see `_FORMS`
`{"mcp": result}`            anything else, such as an image, as it is
===========================  =======================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json

from chaosagent.canonical import Plain

Result = dict[str, Any]

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
CACHED = frozenset({
    "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
})  # fmt: skip
_AS_IT_IS = "mcp"


def _indented(value: Any) -> str:
    return to_json(value, indent=2).decode()


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


_FORMS: Mapping[str, tuple[bool, Callable[[Any], str]]] = {
    "compact": (True, _compact),
    "spaced": (True, json.dumps),
    "json": (False, _indented),
    "compact json": (False, _compact),
    "spaced json": (False, json.dumps),
}
"""By name: whether there is structured content beside the text, and how the text is written."""


def without_server_fields(result: Mapping[str, Any]) -> Result:
    """Return a result without what every result of a server has: its name, and for how long it may be cached."""
    left = {key: value for key, value in result.items() if key not in ("_meta", "ttlMs", "cacheScope")}
    if left.get("resultType") == "complete":
        del left["resultType"]
    meta = {key: value for key, value in (result.get("_meta") or {}).items() if key != SERVER_INFO}
    return left | {"_meta": meta} if meta else left


def for_protocol_version(result: Mapping[str, Any], method: str, params: Mapping[str, Any], server: Any) -> Result:
    """Return a result as the version of the protocol has it that the request is written in.

    Args:
        result: Without what `without_server_fields` takes away.
        method: What was asked.
        params: The request's; a request of a version without a handshake names the version.
        server: What the server says of itself; `None` for nothing.
    """
    meta = params.get("_meta")
    made = dict(result)
    if not isinstance(meta, Mapping) or PROTOCOL_VERSION not in meta:
        return made
    made.setdefault("resultType", "complete")
    if method in CACHED:
        made |= {"ttlMs": 0, "cacheScope": "private"}
    if server is not None:
        made["_meta"] = {**made.get("_meta", {}), SERVER_INFO: server}
    return made


def crossing_value(result: Mapping[str, Any]) -> Any:
    """Return a stripped result of a tool as it crosses, unless `failure_in` has something to say of it."""
    if result.get("isError") is True:
        return {_AS_IT_IS: dict(result)}
    structured, text = result.get("structuredContent"), _only_text(result)
    if isinstance(structured, Mapping):
        if _written_by_sdk(structured) == _blocks(result) and not _is_marked(structured):
            return structured
        forms = [name for name, (beside, write) in _FORMS.items() if beside and text == write(structured)]
        return {forms[0]: structured} if forms else {_AS_IT_IS: dict(result)}
    if text is None:
        return {_AS_IT_IS: dict(result)}
    value = _parsed(text)
    if isinstance(value, list | dict):
        forms = [name for name, (beside, write) in _FORMS.items() if not beside and text == write(value)]
        if forms:
            return {forms[0]: value}
    return text


def result_of(answer: Plain) -> Result:
    """Return the result of a tool that an answer, altered or not, stands for."""
    if isinstance(answer, str):
        return {"content": [_text(answer)], "isError": False}
    if isinstance(answer, Mapping) and len(answer) == 1:
        [(name, value)] = answer.items()
        if name == _AS_IT_IS and isinstance(value, Mapping) and isinstance(value.get("content"), list):
            return dict(value)
        if name in _FORMS:
            beside, write = _FORMS[name]
            text = {"content": [_text(write(value))], "isError": False}
            return text | {"structuredContent": value} if beside and isinstance(value, Mapping) else text
    if isinstance(answer, Mapping):
        return {
            "content": [_text(text) for text in _written_by_sdk(answer)],
            "structuredContent": dict(answer),
            "isError": False,
        }
    return {"content": [] if answer is None else [_text(_indented(answer))], "isError": False}


def content_value(answer: Plain) -> Plain:
    """Return what an answer of a tool says, without the form in which it says it."""
    if isinstance(answer, Mapping) and len(answer) == 1:
        [(name, value)] = answer.items()
        if name in _FORMS:
            return value
    return answer


def said_value(answer: Plain) -> Plain:
    """Return what an answer of a tool says, as conditions look at it: of a result with other parts, that result."""
    said = content_value(answer)
    if isinstance(said, Mapping) and set(said) == {_AS_IT_IS}:
        return said[_AS_IT_IS]
    return said


def failed_result(text: str) -> Result:
    """Return the result of a tool that failed."""
    return {"content": [_text(text)], "isError": True}


def failure_in(result: Mapping[str, Any]) -> str | None:
    """Return what a result that tells of a failure says, `None` if it tells of none or says it in some other way."""
    if result.get("isError") is not True or set(result) != {"content", "isError"}:
        return None
    return _only_text(result)


def passages_of(result: Mapping[str, Any]) -> list[Any]:
    """Return the contents of a resource as passages: their `id` is the URI."""
    return [
        {"id" if key == "uri" else key: value for key, value in one.items()} for one in result.get("contents") or ()
    ]


def contents_of(passages: Plain) -> Result:
    """Return the result of reading a resource that passages, altered or not, stand for."""
    listed = passages if isinstance(passages, list) else []
    shown = [one for one in listed if isinstance(one, Mapping)]
    return {"contents": [{"uri" if key == "id" else key: value for key, value in one.items()} for one in shown]}


def _written_by_sdk(structured: Mapping[str, Any]) -> list[str]:
    """Return the texts that the SDK puts beside structured content; it wraps what is no mapping into `result`."""
    if set(structured) != {"result"}:
        return [_indented(structured)]
    return _texts(structured["result"])


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value if isinstance(value, str) else _indented(value)]


def _is_marked(structured: Mapping[str, Any]) -> bool:
    return len(structured) == 1 and next(iter(structured)) in (*_FORMS, _AS_IT_IS)


def _only_text(result: Mapping[str, Any]) -> str | None:
    texts = _blocks(result)
    return None if texts is None or len(texts) != 1 else texts[0]


def _blocks(result: Mapping[str, Any]) -> list[str] | None:
    """Return the texts of a result; `None` where there is anything else in it."""
    content = result.get("content")
    if not isinstance(content, list) or not set(result) <= {"content", "isError", "structuredContent"}:
        return None
    texts = [block["text"] for block in content if set(block) == {"type", "text"} and block["type"] == "text"]
    return texts if len(texts) == len(content) else None


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
