"""Recorded conversations, looked up by what was said so far.

The key of a request is the whole conversation up to it: role, content and calls of every message, without ids, and the
answers of the tools in the order of their calls. What followed it in any conversation is what follows it now; in the
conversation that the task is made of, if it was said there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from chaosagent.adapters.core.calls import calls_of, parsed_arguments
from chaosagent.canonical import Plain, digest_of
from chaosagent.errors import UsageError
from chaosagent.trace.conversations import (
    ANSWER_ROLES,
    ASSISTANT,
    RecordedMessage,
    ToolCall,
    conversation_of,
    is_whole,
    read_messages,
)
from chaosagent.trace.otlp import SourcePlace
from chaosagent.trace.span_files import values_in

FILE_BYTES_MAX = 256 * 1024 * 1024
"""Of one file of conversations; all of it is kept in memory."""
ID_KEYS = ("id", "task_id", "instance_id", "conversation_id")
_UNFIT = re.compile(r"[^\w.-]+")

Message = Mapping[str, Plain]


class Position(NamedTuple):
    """A place in a recorded conversation.

    Attributes:
        conversation: Index of the conversation.
        message: How many of its messages are before this place.
    """

    conversation: int
    message: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """One recorded conversation.

    Attributes:
        id: Unique among those of a recording.
        place: Where it was read.
        messages: As an agent has them: answers of tools follow the calls in the order of these.
        calls: Of tools, by the number of messages before the message that has them.
        given: The messages as they were recorded.
    """

    id: str
    place: SourcePlace
    messages: tuple[Message, ...]
    calls: Mapping[int, tuple[ToolCall, ...]]
    given: Sequence[object] = field(repr=False, compare=False, default=())

    @property
    def opening(self) -> list[Plain]:
        """The messages before the assistant's first."""
        first = next(iter(self.calls), len(self.messages))
        return [dict(message) for message in self.messages[:first]]


class Recording:
    """Conversations by what was said in them.

    Args:
        conversations: All of them.
    """

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        self.conversations = {one.id: one for one in conversations}
        self._listed = tuple(self.conversations.values())
        self._at: dict[str, list[Position]] = {}
        for number, one in enumerate(self._listed):
            for length, key in enumerate(_keys(one.messages)):
                self._at.setdefault(key, []).append(Position(number, length))

    @property
    def tools(self) -> list[str]:
        """The names of all tools that were called, sorted."""
        called = (call for one in self._listed for calls in one.calls.values() for call in calls)
        return sorted({call.name for call in called})

    def position(self, messages: Sequence[object], conversation_id: str) -> Position | None:
        """Return where these messages were said; `None` if they never were.

        Args:
            messages: All so far.
            conversation_id: The conversation that is looked at first.
        """
        found = self._at.get(_key(messages), ())
        own = [one for one in found if self._listed[one.conversation].id == conversation_id]
        return next(iter([*own, *found]), None)

    def following(self, position: Position) -> Message | None:
        """Return the message after a place, `None` where the conversation ends."""
        messages = self._listed[position.conversation].messages
        return messages[position.message] if position.message < len(messages) else None

    def answer(self, position: Position, name: str, arguments: Plain, ordinal: int) -> ToolCall | None:
        """Return the call of a tool that was made in a turn or, if not there, in the latest one before it.

        Args:
            position: Before the message of the assistant that makes the call.
            name: Of the tool.
            arguments: Of the call.
            ordinal: Which of several equal calls of the turn it is, from 0; further ones get the last one's answer.

        Returns:
            A call with its answer; `None` if there is none.
        """
        calls = self._listed[position.conversation].calls
        for place in sorted((place for place in calls if place <= position.message), reverse=True):
            same = [call for call in calls[place] if call.name == name and _arguments(call) == arguments]
            if same:
                call = same[min(ordinal, len(same) - 1)]
                return call if call.answered_at >= 0 else None
        return None


def read_conversations(path: Path) -> Iterator[Conversation | UsageError]:
    """Yield the conversations of a file, and an error for each value that holds none or a broken one.

    Args:
        path: One conversation a line, a list of them, or one alone; see `chaosagent.trace.conversations`.

    Raises:
        UsageError: The file cannot be read, or is too large.
    """
    if path.is_file() and path.stat().st_size > FILE_BYTES_MAX:
        raise UsageError(f"{path} has more than {FILE_BYTES_MAX} bytes. Split it, or take a part of it.")
    for value in values_in(path):
        if isinstance(value, UsageError):
            yield value
            continue
        try:
            yield from _in_value(value.read(), value.place)
        except UsageError as error:
            yield error


def _in_value(value: object, place: SourcePlace) -> Iterator[Conversation | UsageError]:
    alone = conversation_of(value)
    for one in value if alone is None and isinstance(value, list) and value else [value]:
        found = conversation_of(one)
        if found is None:
            yield UsageError(
                f"{place}: no conversation: expected an object with `messages`, or a list of messages that have a "
                f"`role`, found {one!r:.80}. Correct it, or leave it out with --skip-broken."
            )
            continue
        try:
            yield conversation_from(*found, place)
        except UsageError as error:
            yield error


def conversation_from(messages: Sequence[object], about: Mapping[str, object], place: SourcePlace) -> Conversation:
    """Return a conversation.

    Args:
        messages: As they were recorded.
        about: What else is said of it; `id` or the like names it.
        place: Where it was read.

    Raises:
        UsageError: A message is none, or nothing can be made of the conversation: the assistant says nothing, a call
            of a tool has no answer, or the last message is not the assistant's.
    """
    read = read_messages(messages, place)
    if not is_whole(read):
        raise UsageError(f"{place}: {_missing(read)} Correct it, or leave the conversation out with --skip-broken.")
    said: list[Message] = []
    calls: dict[int, tuple[ToolCall, ...]] = {}
    answers = {call.answered_at for message in read for call in message.calls}
    for message in read:
        if message.role == ASSISTANT:
            calls[len(said)] = message.calls
            said.append(assistant_message(message))
            said.extend(tool_message(call.answer) for call in message.calls)
        elif message.number not in answers:
            said.append({"role": message.role, "content": message.content})
    named = next((about[key] for key in ID_KEYS if isinstance(about.get(key), str | int)), "")
    return Conversation(_UNFIT.sub("-", str(named)).strip("-"), place, tuple(said), calls, messages)


def assistant_message(message: RecordedMessage) -> Message:
    """Return a message of the assistant as an agent has it: calls without ids, their arguments as data."""
    calls: list[Plain] = [{"name": call.name, "arguments": _arguments(call)} for call in message.calls]
    return {"role": ASSISTANT, "content": message.content, "tool_calls": calls}


def tool_message(answer: Plain) -> Message:
    """Return the answer of a tool as an agent has it."""
    return {"role": "tool", "content": answer}


def _missing(messages: Sequence[RecordedMessage]) -> str:
    for message in messages:
        for call in message.calls:
            if call.answered_at < 0:
                return f"message {message.number}: the call of {call.name!r} has no answer."
    if not any(message.role == ASSISTANT for message in messages):
        return "no message of the assistant, so there is nothing that a model could say."
    return f"the last message is of the {messages[-1].role}; what the assistant said to it was not recorded."


def _arguments(call: ToolCall) -> Plain:
    return parsed_arguments(call.arguments)


def _keys(messages: Iterable[object]) -> Iterator[str]:
    """Yield the key of each beginning of a conversation, the empty one first."""
    key = ""
    yield key
    for message in messages:
        key = digest_of([key, _neutral(message)])
        yield key


def _key(messages: Sequence[object]) -> str:
    *_, last = _keys(messages)
    return last


def _neutral(message: object) -> object:
    """Return a message without what changes from run to run, and without what says nothing."""
    if not isinstance(message, Mapping):
        return message
    role = "tool" if message.get("role") in ANSWER_ROLES else message.get("role")
    listed = [[call.get("name"), call.get("arguments")] for call in calls_of(message)]
    return [role, message.get("content") or "", listed]
