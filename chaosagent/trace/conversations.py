"""Recorded conversations in the form of OpenAI's chat messages, as spans.

A conversation is an object with `messages`, or `traj`, `trajectory` or `conversation`, or the bare list; a file holds
one a line, a list of them, or one alone. Each message of the assistant is a call of the model, each of its tool calls a
call of a tool, answered by the message with the role `tool` (or, in an older form, `function`) that belongs to it.

Ids of tool calls are unique only as long as the model's provider cares: some number the calls of every turn anew, some
give all calls one id. So an answer belongs to the first call with its id that has no answer yet, in the latest turn
that has such a call; an answer without an id, to the first such call of the latest turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, TypeGuard

from chaosagent.canonical import Plain, plain
from chaosagent.errors import UsageError
from chaosagent.trace.genai_names import (
    CHAT,
    EXECUTE_TOOL,
    INPUT_MESSAGES,
    OPERATION,
    OUTPUT_MESSAGES,
    REQUEST_MODEL,
    TOOL_ARGUMENTS,
    TOOL_NAME,
    TOOL_RESULT,
)
from chaosagent.trace.otlp import LEVELS_AROUND, SourcePlace, Span

HOLDERS = ("messages", "traj", "trajectory", "conversation")
ASSISTANT = "assistant"
ANSWER_ROLES = ("tool", "function")
WHOLE = "conversation"
_TICK = 1_000_000
"""Nanoseconds between two messages: only their order is known. Calls of one turn are a nanosecond apart."""


@dataclass(slots=True)
class ToolCall:
    """A call of a tool in a conversation, and its answer once that was read.

    Attributes:
        turn: Index of the message that has it.
        id: As the model's provider gave it; empty when there is none.
        name: Of the tool.
        arguments: As they were recorded: mostly a text with JSON in it.
        answered_at: Index of the message that answers it; -1 when none does.
        answer: Content of that message.
    """

    turn: int
    id: str
    name: str
    arguments: Plain
    answered_at: int = -1
    answer: Plain = None


class RecordedMessage(NamedTuple):
    """A message of a conversation.

    Attributes:
        number: In the conversation, from 0.
        role: Who says it.
        content: What is said.
        calls: The tools that it calls, in order; only of the assistant.
        listed: The calls of tools as they stand in the message.
    """

    number: int
    role: str
    content: Plain
    calls: tuple[ToolCall, ...] = ()
    listed: Plain = None


@dataclass(slots=True)
class _Unanswered:
    """The calls of one conversation without an answer, by turn."""

    open: dict[int, list[ToolCall]] = field(default_factory=dict)

    def answer(self, message: Mapping[str, object], content: Plain, index: int) -> None:
        """Give an answer to the call that it belongs to; one that belongs to none is left out."""
        call = self._asked(message)
        if call is None:
            return
        call.answered_at, call.answer = index, content
        self.open[call.turn].remove(call)
        if not self.open[call.turn]:
            del self.open[call.turn]

    def _asked(self, message: Mapping[str, object]) -> ToolCall | None:
        wanted, name = message.get("tool_call_id"), message.get("name")
        for turn in reversed(self.open):
            for call in self.open[turn]:
                if call.id == wanted if isinstance(wanted, str) and wanted else name in (None, call.name):
                    return call
            if not isinstance(wanted, str) or not wanted:
                break
        return None


def conversation_of(value: object) -> tuple[Sequence[object], Mapping[str, object]] | None:
    """Return the messages of a conversation and what is said of it, `None` when a JSON value holds none.

    Args:
        value: One JSON value of a file.
    """
    if isinstance(value, list):
        return (value, {}) if value and all(_has_role(message) for message in value) else None
    if not isinstance(value, dict):
        return None
    for key in HOLDERS:
        messages = value.get(key)
        if isinstance(messages, list) and all(_has_role(message) for message in messages[:1]):
            return messages, value
    return None


def spans_of_conversation(
    messages: Sequence[object], about: Mapping[str, object], place: SourcePlace, number: int
) -> Iterator[Span]:
    """Yield the spans that a conversation stands for, that of the whole run first.

    The whole run has no end where a call has no answer, or where the last message is not the assistant's: then it is
    not known what happened further.

    Args:
        messages: In their order.
        about: What else is said of the conversation; `model` names the model.
        place: Where it was read.
        number: Of the conversation at that place, from 0.

    Raises:
        UsageError: A message is none.
    """
    trace_id = f"{place}" if not number else f"{place}#{number + 1}"
    model = about.get("model")
    spans = _Spans(trace_id, model if isinstance(model, str) and model else "model", place)
    yield from spans.of(read_messages(messages, place))


def read_messages(messages: Sequence[object], place: SourcePlace) -> list[RecordedMessage]:
    """Return the messages of a conversation, each call of a tool with its answer.

    Args:
        messages: In their order.
        place: Where they were read.

    Raises:
        UsageError: A message is none.
    """
    unanswered = _Unanswered()
    found = []
    for index, message in enumerate(messages):
        if not _has_role(message):
            _refuse(place, index, "an object with a `role`", message)
        role, content = str(message["role"]), _plain(place, index, message.get("content"))
        if role in ANSWER_ROLES:
            unanswered.answer(message, "" if content is None else content, index)
        if role != ASSISTANT:
            found.append(RecordedMessage(index, role, content))
            continue
        listed, legacy = message.get("tool_calls") or [], message.get("function_call")
        if not isinstance(listed, list):
            _refuse(place, index, "tool_calls that are a list", listed)
        calls = [_call(place, index, call) for call in [*listed, *([{"function": legacy}] if legacy else [])]]
        if calls:
            unanswered.open[index] = list(calls)
        found.append(RecordedMessage(index, role, content, tuple(calls), _plain(place, index, listed)))
    return found


def is_whole(messages: Sequence[RecordedMessage]) -> bool:
    """Whether the last message of a conversation is the assistant's, and every call of a tool has its answer."""
    answered = all(call.answered_at >= 0 for message in messages for call in message.calls)
    return bool(messages) and messages[-1].role == ASSISTANT and answered


class _Spans:
    """Makes spans of the messages of one conversation."""

    def __init__(self, trace_id: str, model: str, place: SourcePlace) -> None:
        self._trace_id, self._model, self._place = trace_id, model, place

    def of(self, messages: Sequence[RecordedMessage]) -> Iterator[Span]:
        said = [message.content for message in messages if message.role == ASSISTANT]
        attributes: dict[str, Plain] = {}  # no operation: it names no agent
        if said and said[-1] is not None:
            attributes[OUTPUT_MESSAGES] = [{"role": ASSISTANT, "content": said[-1]}]
        end = (len(messages) + 1) * _TICK if is_whole(messages) else 0
        yield self._span(WHOLE, WHOLE, 0, end, attributes)._replace(parent_id="", local_root=True)
        since: list[Plain] = []  # what the model has not seen before; all of it in each request would be its square
        for message in messages:
            if message.role == ASSISTANT:
                yield self._turn(message, since)
                since = []
            else:
                since.append({"role": message.role, "content": message.content})
        calls = [call for message in messages for call in message.calls]
        yield from (self._tool(number, call) for number, call in enumerate(calls))

    def _turn(self, message: RecordedMessage, since: list[Plain]) -> Span:
        moment = (message.number + 1) * _TICK
        attributes: dict[str, Plain] = {
            OPERATION: CHAT,
            REQUEST_MODEL: self._model,
            INPUT_MESSAGES: since,
            OUTPUT_MESSAGES: [{"role": ASSISTANT, "content": message.content, "tool_calls": message.listed}],
        }
        return self._span(f"turn {message.number}", f"{CHAT} {self._model}", moment - 1, moment, attributes)

    def _tool(self, number: int, call: ToolCall) -> Span:
        attributes = {OPERATION: EXECUTE_TOOL, TOOL_NAME: call.name, TOOL_ARGUMENTS: call.arguments}
        start, end = (call.turn + 1) * _TICK + 1 + number % (_TICK // 2), 0
        if call.answered_at >= 0:
            attributes[TOOL_RESULT], end = call.answer, (call.answered_at + 1) * _TICK
        return self._span(f"call {number}", f"{EXECUTE_TOOL} {call.name}", start, end, attributes)

    def _span(self, id_: str, name: str, start: int, end: int, attributes: Mapping[str, Plain]) -> Span:
        return Span(
            self._trace_id,
            id_,
            WHOLE,
            name,
            start,
            end,
            failed=False,
            message="",
            attributes=attributes,
            local_root=False,
            place=self._place,
        )


def _call(place: SourcePlace, index: int, call: object) -> ToolCall:
    function = call.get("function", call) if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(name, str) or not name:
        _refuse(place, index, "a tool call with a function that has a name", call)
    given, arguments = call.get("id"), _plain(place, index, function.get("arguments"))
    return ToolCall(index, given if isinstance(given, str) else "", name, arguments)


def _plain(place: SourcePlace, index: int, value: object) -> Plain:
    try:
        return plain(value, LEVELS_AROUND)
    except UsageError as error:
        raise UsageError(f"{place}: message {index}: {error}") from error


def _refuse(place: SourcePlace, index: int, expected: str, value: object) -> NoReturn:
    raise UsageError(
        f"{place}: message {index}: expected {expected}, found {value!r:.80}. Correct it, or leave the "
        "conversation out with --skip-broken."
    )


def _has_role(message: object) -> TypeGuard[dict[str, object]]:
    return isinstance(message, dict) and isinstance(message.get("role"), str)
