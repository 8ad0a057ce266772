"""What `model.truncated_stream` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.truncated_stream import TruncatedStream
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", {}), Response(value)))


PAY: dict[str, Plain] = {"id": "c-1", "name": "pay", "arguments": {"a": 1}}  # eight characters of JSON
MAIL: dict[str, Plain] = {"id": "c-2", "name": "mail", "arguments": '{"b": 2}'}


@pytest.mark.parametrize(
    ("share", "content", "calls"),
    [
        (0.01, "01234567", [PAY, {**MAIL, "arguments": '{"b": 2'}]),
        (0.25, "01234567", [PAY, {**MAIL, "arguments": '{"'}]),
        (0.34, "01234567", [PAY]),
        (0.5, "01234567", [{**PAY, "arguments": '{"a"'}]),
        (0.75, "012345", []),
        (1.0, "", []),
    ],
)
def test_the_end_of_content_and_calls_is_missing(share: float, content: str, calls: list[Plain]) -> None:
    answer: dict[str, Plain] = {"content": "01234567", "tool_calls": [PAY, MAIL], "model": "m"}

    response = play(TruncatedStream(share=share), _answered(answer))

    assert response == Response({"content": content, "tool_calls": calls, "model": "m"})


def test_a_reason_to_stop_that_is_there_says_why() -> None:
    answer: dict[str, Plain] = {"content": "0123", "finish_reason": "stop", "stop_reason": "end_turn"}

    response = play(TruncatedStream(share=0.5), _answered(answer))

    assert response == Response({"content": "01", "finish_reason": "length", "stop_reason": "max_tokens"})


@pytest.mark.parametrize(
    ("share", "content", "calls"),
    [
        (0.01, [{"type": "text", "text": "0123"}, {"type": "image", "source": "x"}, "45"], []),
        (0.3, [{"type": "text", "text": "0123"}, {"type": "image", "source": "x"}, "4"], []),
        (0.5, [{"type": "text", "text": "0123"}], []),
        (0.6, [{"type": "text", "text": "012"}], []),
        (1.0, [], []),
    ],
)
def test_content_in_parts_is_cut_before_the_calls(share: float, content: list[Plain], calls: list[Plain]) -> None:
    parts: list[Plain] = [{"type": "text", "text": "0123"}, {"type": "image", "source": "x"}, "45"]
    answer: dict[str, Plain] = {"content": parts, "tool_calls": [{"name": "ping"}, {"name": "pay", "arguments": "{"}]}

    response = play(TruncatedStream(share=share), _answered(answer))

    assert response == Response({"content": content, "tool_calls": calls})


def test_a_call_without_arguments_gets_none() -> None:
    answer: dict[str, Plain] = {
        "content": "0123",
        "tool_calls": [{"name": "ping"}, {"name": "ping", "arguments": None}],
    }

    assert play(TruncatedStream(share=0.01), _answered(answer)) == Response({"content": "012", "tool_calls": []})


def test_calls_as_the_apis_have_them_are_cut() -> None:
    use: Plain = {"type": "tool_use", "name": "pay", "input": {"a": 1}}
    call: Plain = {"type": "function", "function": {"name": "pay", "arguments": '{"a": 1}'}}

    in_content = play(TruncatedStream(share=0.5), _answered({"content": [use]}))
    beside = play(TruncatedStream(share=0.5), _answered({"content": None, "tool_calls": [call]}))

    assert in_content == Response({"content": [{"type": "tool_use", "name": "pay", "input": '{"a"'}]})
    cut: Plain = {"type": "function", "function": {"name": "pay", "arguments": '{"a"'}}
    assert beside == Response({"content": None, "tool_calls": [cut]})


def test_a_text_is_cut() -> None:
    assert play(TruncatedStream(), _answered("0123")) == Response("012")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        "",
        {"embedding": [1.0]},
        {"content": "", "tool_calls": [], "finish_reason": "stop"},
        {"tool_calls": [{"name": "ping"}]},
    ],
)
def test_truncated_stream_leaves_other_answers_alone(answer: Plain) -> None:
    assert play(TruncatedStream(), _answered(answer)) == Response(answer)
