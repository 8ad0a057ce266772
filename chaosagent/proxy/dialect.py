"""What differs between the APIs of models: how an answer, a list of tools and a tool's result are written.

Inside, an answer is a mapping with `content` (text), `tool_calls` (mappings with `name` and `arguments`, a mapping, or
a text when it is no JSON object), the reason why it ended under the API's own word, and whatever else the answer held,
under `more`. It holds no ids and no times: those are made anew, in the same way in every run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from chaosagent.proxy.parse_json import parse_json
from chaosagent.proxy.sse import Event

Body: TypeAlias = "dict[str, Any]"
"""A JSON object, as it stands in a request or a response."""


class MalformedAnswerError(Exception):
    """What an upstream answered is not what its API promises; the text says what is wrong."""


class ToolResult(NamedTuple):
    """The result of a tool in a request, as the model is about to read it.

    Attributes:
        call: Id of the tool call that it answers.
        text: What it says.
        replace: Puts another text there.
    """

    call: str
    text: str
    replace: Callable[[str], None]


class Dialect(Protocol):
    """One API of models.

    Attributes:
        name: Of the API.
        path: Of its requests, behind the address of the upstream.
    """

    name: str
    path: str

    def answer_of(self, body: Mapping[str, Any]) -> Body:
        """Return what crosses of a response; `MalformedAnswerError` when it is none."""
        ...

    def body_of(self, answer: Mapping[str, Any], ask: str) -> Body:
        """Return a response of what has crossed; `ask` tells the calls of a run apart, in the ids that are made."""
        ...

    def events_of(self, body: Body, request: Mapping[str, Any]) -> Iterator[Event]:
        """Yield a response as a stream."""
        ...

    def gathered(self, events: Iterator[Event]) -> Body:
        """Return the response that a stream told; `BrokenStreamError` when it does not come to its end."""
        ...

    def tools_of(self, request: Mapping[str, Any]) -> list[Body]:
        """Return the tools that a request offers, with `name`, `description` and `parameters`."""
        ...

    def with_tools(self, request: Body, tools: Sequence[Mapping[str, Any]]) -> None:
        """Offer other tools in a request; what has no name, such as a tool that the API itself runs, stays."""
        ...

    def results_of(self, request: Body) -> list[ToolResult]:
        """Return the results of tools that a request shows the model."""
        ...

    def error_body(self, status: int, message: str) -> Body:
        """Return the response that says that something went wrong."""
        ...


def list_of(value: object) -> list[Any]:
    """Return a list as it is, and nothing in place of anything else."""
    return value if isinstance(value, list) else []


def text_of(content: object) -> str | None:
    """Return the text of a message's content; `None` where it is not text alone."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content]
        if all(isinstance(text, str) for text in texts):
            return "".join(str(text) for text in texts)
    return None


def arguments_of(text: object) -> object:
    """Return the arguments of a tool call as a mapping, or as the text that they are."""
    try:
        found = parse_json(text) if isinstance(text, str) else text
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def arguments_text(arguments: object) -> str:
    """Return the arguments of a tool call as the API's text."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=repr)


def calls_of(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tool calls of an answer."""
    return [call for call in list_of(answer.get("tool_calls")) if isinstance(call, Mapping)]


def answer_text(answer: Mapping[str, Any]) -> str:
    """Return the text of an answer, empty when there is none."""
    content = answer.get("content")
    return content if isinstance(content, str) else ""


def without(mapping: Mapping[str, Any], *names: str) -> Body:
    """Return a mapping without some of its keys, and without what is empty."""
    return {name: value for name, value in mapping.items() if name not in names and value not in (None, [], {})}


def required(condition: object, message: str) -> None:
    """Refuse a response.

    Raises:
        MalformedAnswerError: The condition does not hold.
    """
    if not condition:
        raise MalformedAnswerError(message)


def tool_of(given: Mapping[str, Any], schema: str) -> Body:
    """Return a tool as it crosses: flat, its schema under `parameters`."""
    flat = {name: value for name, value in given.items() if name not in ("type", schema)}
    return {**flat, "parameters": given.get(schema)} if schema in given else flat
