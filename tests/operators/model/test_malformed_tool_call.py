"""What `model.malformed_tool_call` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.malformed_tool_call import MalformedToolCall
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", {"messages": []}), Response(value)))


LOOK_UP: Plain = {"name": "look_up", "arguments": {}}


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        ("missing_argument", {"name": "pay", "arguments": {"to": "ann"}}),
        ("unknown_tool", {"name": "pay_v2", "arguments": {"to": "ann", "amount": 5}}),
        ("truncated_json", {"name": "pay", "arguments": '{"amount": 5,'}),
    ],
)
def test_malformed_tool_call_breaks_the_first_call(kind: str, broken: Plain) -> None:
    pay: Plain = {"name": "pay", "arguments": {"to": "ann", "amount": 5}}

    response = play(MalformedToolCall(kind=kind), _answered({"content": "", "tool_calls": [pay, LOOK_UP]}))

    assert response == Response({"content": "", "tool_calls": [broken, LOOK_UP]})


def test_arguments_that_are_json_already_are_cut_as_they_are() -> None:
    answer: Plain = {"tool_calls": [{"name": "pay", "arguments": '{"a": 1}'}]}

    response = play(MalformedToolCall("truncated_json"), _answered(answer))

    assert response == Response({"tool_calls": [{"name": "pay", "arguments": '{"a"'}]})


@pytest.mark.parametrize("kind", ["missing_argument", "unknown_tool", "truncated_json"])
@pytest.mark.parametrize("answer", [None, "text", {"content": "x", "tool_calls": []}, {"tool_calls": [None]}])
def test_malformed_tool_call_leaves_answers_without_a_call_alone(kind: str, answer: Plain) -> None:
    assert play(MalformedToolCall(kind), _answered(answer)) == Response(answer)
