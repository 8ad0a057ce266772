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
from typing import NoReturn, TypeGuard

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
class _Call:
    """A call of a tool, and its answer once that was read."""

    number: int
    turn: int
    start: int
    id: str
    name: str
    arguments: Plain
    end: int = 0
    answer: Plain = None


@dataclass(slots=True)
class _Calls:
    """The calls of one conversation, and those without an answer by turn."""

    all: list[_Call] = field(default_factory=list)
    open: dict[int, list[_Call]] = field(default_factory=dict)

    def add(self, call: _Call) -> None:
        self.all.append(call)
        self.open.setdefault(call.turn, []).append(call)

    def answer(self, message: Mapping[str, object], content: Plain, moment: int) -> None:
        """Give an answer to the call that it belongs to; one that belongs to none is left out."""
        call = self._asked(message)
        if call is None:
            return
        call.end, call.answer = moment, content
        self.open[call.turn].remove(call)
        if not self.open[call.turn]:
            del self.open[call.turn]

    def _asked(self, message: Mapping[str, object]) -> _Call | None:
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
    reader = _Reader(trace_id, model if isinstance(model, str) and model else "model", place)
    yield from reader.read(messages)


class _Reader:
    """Reads the messages of one conversation."""

    def __init__(self, trace_id: str, model: str, place: SourcePlace) -> None:
        self._trace_id, self._model, self._place = trace_id, model, place
        self._calls = _Calls()
        self._turns: list[Span] = []
        self._said: Plain = None

    def read(self, messages: Sequence[object]) -> Iterator[Span]:
        since: list[Plain] = []  # what the model has not seen before; all of it in each request would be its square
        for index, message in enumerate(messages):
            if not _has_role(message):
                self._refuse(index, "an object with a `role`", message)
            moment, role = (index + 1) * _TICK, message["role"]
            content = self._plain(index, message.get("content"))
            if role == ASSISTANT:
                self._turn(index, message, content, since)
                since = []
                continue
            if role in ANSWER_ROLES:
                self._calls.answer(message, "" if content is None else content, moment)
            since.append({"role": str(role), "content": content})
        last = messages[-1] if messages else None
        is_whole = _has_role(last) and last["role"] == ASSISTANT and not self._calls.open
        yield self._whole(len(messages), is_whole=is_whole)
        yield from self._turns
        yield from map(self._tool, self._calls.all)

    def _turn(self, index: int, message: Mapping[str, object], content: Plain, since: list[Plain]) -> None:
        moment, listed = (index + 1) * _TICK, message.get("tool_calls") or []
        legacy = message.get("function_call")
        if not isinstance(listed, list):
            self._refuse(index, "tool_calls that are a list", listed)
        for call in [*listed, *([{"function": legacy}] if legacy else [])]:
            self._call(index, call, moment)
        self._said = content
        said = {"role": ASSISTANT, "content": content, "tool_calls": self._plain(index, listed)}
        attributes: dict[str, Plain] = {
            OPERATION: CHAT,
            REQUEST_MODEL: self._model,
            INPUT_MESSAGES: since,
            OUTPUT_MESSAGES: [said],
        }
        self._turns.append(self._span(f"turn {index}", f"{CHAT} {self._model}", moment - 1, moment, attributes))

    def _call(self, index: int, call: object, moment: int) -> None:
        function = call.get("function", call) if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(name, str) or not name:
            self._refuse(index, "a tool call with a function that has a name", call)
        number, given = len(self._calls.all), call.get("id")
        arguments = self._plain(index, function.get("arguments"))
        id_ = given if isinstance(given, str) else ""
        self._calls.add(_Call(number, index, moment + 1 + number % (_TICK // 2), id_, name, arguments))

    def _tool(self, call: _Call) -> Span:
        attributes = {OPERATION: EXECUTE_TOOL, TOOL_NAME: call.name, TOOL_ARGUMENTS: call.arguments}
        if call.end:
            attributes[TOOL_RESULT] = call.answer
        return self._span(f"call {call.number}", f"{EXECUTE_TOOL} {call.name}", call.start, call.end, attributes)

    def _whole(self, message_count: int, *, is_whole: bool) -> Span:
        attributes: dict[str, Plain] = {}  # no operation: it names no agent
        if self._said is not None:
            attributes[OUTPUT_MESSAGES] = [{"role": ASSISTANT, "content": self._said}]
        end = (message_count + 1) * _TICK if is_whole else 0
        return self._span(WHOLE, WHOLE, 0, end, attributes)._replace(parent_id="", local_root=True)

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

    def _plain(self, index: int, value: object) -> Plain:
        try:
            return plain(value, LEVELS_AROUND)
        except UsageError as error:
            raise UsageError(f"{self._place}: message {index}: {error}") from error

    def _refuse(self, index: int, expected: str, value: object) -> NoReturn:
        raise UsageError(
            f"{self._place}: message {index}: expected {expected}, found {value!r:.80}. Correct it, or leave the "
            "conversation out with --skip-broken."
        )


def _has_role(message: object) -> TypeGuard[dict[str, object]]:
    return isinstance(message, dict) and isinstance(message.get("role"), str)
