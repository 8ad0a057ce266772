"""Answers of model APIs lose nothing on their way through a door, and streams say what the whole answer says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import plain
from chaosagent.proxy.chat_completions import ChatCompletions
from chaosagent.proxy.dialect import Dialect, MalformedAnswerError
from chaosagent.proxy.messages import Messages
from chaosagent.proxy.responses import Responses
from chaosagent.proxy.sse import BrokenStreamError, Event, read_events, written_event

DIALECTS: list[Dialect] = [ChatCompletions(), Responses(), Messages()]
REASONS = {"chat completions": "finish_reason", "responses": "finish_reason", "messages": "stop_reason"}

CHAT = {
    "id": "chatcmpl-9f",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "gpt-x",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Let me look.",
                "refusal": None,
                "reasoning_content": "They want an order.",
                "tool_calls": [
                    {"id": "call_a", "type": "function", "function": {"name": "get", "arguments": '{"order": "A-17"}'}},
                    {"id": "call_b", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
                ],
            },
            "logprobs": {"content": []},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21},
}
RESPONSES = {
    "id": "resp_9f",
    "object": "response",
    "created_at": 1_700_000_000,
    "status": "completed",
    "model": "gpt-x",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "get", "arguments": '{"order": "A-17"}'},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
    ],
    "usage": {"input_tokens": 9, "output_tokens": 12},
}
MESSAGES = {
    "id": "msg_9f",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "They want an order.", "signature": "EqQB"},
        {"type": "text", "text": "Let me "},
        {"type": "tool_use", "id": "toolu_a", "name": "get", "input": {"order": "A-17"}},
        {"type": "text", "text": "look."},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 12},
}


def _without_ids(value: Any) -> Any:
    """Return a response without what is made anew in each run, and without what says nothing."""
    made_anew = ("id", "call_id", "created", "created_at", "status")
    if isinstance(value, list):
        return [_without_ids(item) for item in value]
    if isinstance(value, dict):
        inside = {name: _without_ids(item) for name, item in value.items() if name not in made_anew}
        return {name: item for name, item in inside.items() if item not in (None, [], {})}
    return value


def _streamed(dialect: Dialect, body: dict[str, Any]) -> list[Event]:
    sent = b"".join(
        written_event(event) for event in dialect.events_of(body, {"stream_options": {"include_usage": True}})
    )
    return list(read_events(sent.decode()))


@pytest.mark.parametrize(("dialect", "body"), list(zip(DIALECTS, [CHAT, RESPONSES, MESSAGES], strict=True)))
def test_an_answer_that_has_crossed_is_what_it_was(dialect: Dialect, body: dict[str, Any]) -> None:
    crossed: Any = plain(dialect.answer_of(body))
    assert isinstance(crossed, dict)

    told = dialect.body_of(crossed, "1")

    assert crossed["content"] == "Let me look."
    assert crossed["tool_calls"][0] == {"name": "get", "arguments": {"order": "A-17"}}
    for name, value in _without_ids(body).items():
        assert _without_ids(told)[name] == value


@pytest.mark.parametrize(("dialect", "body"), list(zip(DIALECTS, [CHAT, RESPONSES, MESSAGES], strict=True)))
def test_a_stream_says_what_the_answer_says(dialect: Dialect, body: dict[str, Any]) -> None:
    told = dialect.body_of(dialect.answer_of(body), "1")

    gathered = dialect.gathered(iter(_streamed(dialect, told)))

    assert dialect.answer_of(gathered)["content"] == "Let me look."
    assert dialect.answer_of(gathered)["tool_calls"] == dialect.answer_of(told)["tool_calls"]
    assert dialect.answer_of(gathered)[REASONS[dialect.name]] == dialect.answer_of(told)[REASONS[dialect.name]]
    assert gathered["usage"] == body["usage"]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(
    content=st.text(max_size=60),
    calls=st.lists(
        st.fixed_dictionaries(
            {
                "name": st.sampled_from(["get", "refund"]),
                "arguments": st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
            }
        ),
        max_size=3,
    ),
)
def test_any_answer_survives_body_and_stream(dialect: Dialect, content: str, calls: list[dict[str, Any]]) -> None:
    calls = [call for call in calls if set(call["arguments"]) != {"INVALID_JSON"}]
    body = dialect.body_of({"content": content, "tool_calls": calls}, "1")

    for told in (body, dialect.gathered(iter(_streamed(dialect, body)))):
        crossed = dialect.answer_of(told)
        assert (crossed["content"] or "") == content
        assert crossed["tool_calls"] == calls


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_arguments_that_are_no_json_stay_so(dialect: Dialect) -> None:
    body = dialect.body_of({"content": "", "tool_calls": [{"name": "get", "arguments": '{"order": "A'}]}, "1")

    assert '{\\"order\\": \\"A' in json.dumps(body)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_an_answer_without_its_tool_calls_does_not_end_for_them(dialect: Dialect) -> None:
    whole = {"content": "", "tool_calls": [{"name": "get", "arguments": {}}]}
    answer = dialect.answer_of(dialect.body_of(whole, "1"))

    refused = dialect.body_of({**answer, "content": "I cannot help.", "tool_calls": []}, "1")

    reason = dialect.answer_of(refused)[REASONS[dialect.name]]
    assert reason in ("stop", "end_turn")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_stream_that_breaks_off_is_told(dialect: Dialect) -> None:
    events = _streamed(dialect, dialect.body_of({"content": "Let me look."}, "1"))

    with pytest.raises(BrokenStreamError, match=rf"broke off after {len(events) - 1} events"):
        dialect.gathered(iter(events[:-1]))


def test_a_stream_that_holds_no_json_is_told() -> None:
    with pytest.raises(BrokenStreamError, match=r"no JSON: '\{oops'"):
        list(read_events("data: {oops\n\n"))
    with pytest.raises(BrokenStreamError, match="no JSON object"):
        list(read_events("data: [1]\n\n"))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_stream_that_says_that_it_failed_is_told(dialect: Dialect) -> None:
    failure = Event("error", {"type": "error", "error": {"message": "overloaded"}})

    with pytest.raises(BrokenStreamError, match="overloaded"):
        dialect.gathered(iter([failure]))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("body", [{}, {"choices": [], "output": 3, "content": "text"}])
def test_what_is_no_answer_is_refused(dialect: Dialect, body: dict[str, Any]) -> None:
    with pytest.raises(MalformedAnswerError, match="it has no"):
        dialect.answer_of(body)


REQUESTS: list[dict[str, Any]] = [
    {
        "tools": [{"type": "function", "function": {"name": "get", "description": "d", "parameters": {}}}],
        "messages": [{"role": "tool", "tool_call_id": "call_1", "content": "found"}],
    },
    {
        "tools": [{"type": "web_search"}, {"type": "function", "name": "get", "description": "d", "parameters": {}}],
        "input": [{"type": "function_call_output", "call_id": "call_1", "output": "found"}],
    },
    {
        "tools": [{"type": "bash_1", "name": "bash"}, {"name": "get", "description": "d", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "found"}]}
        ],
    },
]


@pytest.mark.parametrize(("dialect", "request_"), list(zip(DIALECTS, REQUESTS, strict=True)))
def test_tools_and_results_are_found_and_replaced(dialect: Dialect, request_: dict[str, Any]) -> None:
    request = json.loads(json.dumps(request_))
    tools = dialect.tools_of(request)
    result = dialect.results_of(request)[0]

    dialect.with_tools(request, [{**tools[0], "description": "Always call me first."}])
    result.replace("nothing found")

    assert tools == [{"name": "get", "description": "d", "parameters": {}}]
    assert (result.call, result.text) == ("call_1", "found")
    assert dialect.tools_of(request) == [{"name": "get", "description": "Always call me first.", "parameters": {}}]
    assert len(request["tools"]) == len(request_["tools"])
    assert dialect.results_of(request)[0].text == "nothing found"
