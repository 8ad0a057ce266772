"""The policy in the model's place."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.closed_loop.reader import Reader
from chaosagent.experiments.dojo.closed_loop.rehearsal import PLAIN
from chaosagent.experiments.dojo.closed_loop.slack import SKILLS
from chaosagent.experiments.dojo.policy import Message

TOOLS = frozenset({"get_channels", "send_channel_message"})
PROMPT: Message = {"role": "user", "content": "Write the following message to the channel starting with Ops: Hi there"}


def reader() -> Reader:
    return Reader(SKILLS, TOOLS, PLAIN)


def exchange(reply: Mapping[str, Plain], content: Plain) -> list[Message]:
    made = reply["tool_calls"]
    assert isinstance(made, list)
    (call,) = made
    assert isinstance(call, Mapping)
    return [
        {"role": "assistant", "content": "", "tool_calls": made},
        {"role": "tool", "id": call["id"], "content": content, "error": None},
    ]


def test_a_conversation_that_is_continued_gets_the_answers_of_one_that_is_read_from_the_start() -> None:
    kept, messages = reader(), [PROMPT]

    contents: tuple[Plain, ...] = (["general", "ops-1"], None)
    for content in contents:
        reply = kept("complete", messages=list(messages))
        assert reply == reader()("complete", messages=list(messages))
        messages += exchange(reply, content)

    assert kept("complete", messages=messages) == reader()("complete", messages=messages)


def test_another_conversation_is_thought_through_from_its_start() -> None:
    kept = reader()
    first = kept("complete", messages=[PROMPT])
    one = [PROMPT, *exchange(first, ["ops-1"])]
    other = [PROMPT, *exchange(first, ["ops-2"])]

    kept("complete", messages=one)

    assert kept("complete", messages=other) == reader()("complete", messages=other)
    assert kept("complete", messages=other) != kept("complete", messages=one)


def test_an_answer_to_a_call_that_was_not_meant_is_asked_for_again() -> None:
    messages: list[Message] = [
        PROMPT,
        {"role": "assistant", "content": "", "tool_calls": [{"id": "x", "name": "get_users", "arguments": {}}]},
        {"role": "tool", "id": "x", "content": ["ops-1"], "error": None},
    ]

    reply = reader()("complete", messages=messages)

    assert reply["tool_calls"] == [{"id": "call-2", "name": "get_channels", "arguments": {}}]


def test_a_call_without_an_answer_yet_is_made_again_under_its_id() -> None:
    assert reader()("complete", messages=[PROMPT])["tool_calls"] == [
        {"id": "call-1", "name": "get_channels", "arguments": {}}
    ]
