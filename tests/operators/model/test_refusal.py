"""What `model.refusal` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.refusal import REFUSAL, Refusal
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", {"messages": []}), Response(value)))


def test_refusal_replaces_content_and_tool_calls() -> None:
    answer: Plain = {"content": "Done.", "tool_calls": [{"name": "pay", "arguments": {}}], "model": "m"}

    response = play(Refusal(), _answered(answer))

    assert response == Response({"content": REFUSAL, "tool_calls": [], "model": "m"})


@pytest.mark.parametrize(
    ("key", "called", "ended"), [("finish_reason", "tool_calls", "stop"), ("stop_reason", "tool_use", "end_turn")]
)
def test_a_refusal_does_not_stop_for_tool_calls(key: str, called: str, ended: str) -> None:
    answer: Plain = {"content": "", "tool_calls": [{"name": "pay", "arguments": {}}], key: called}

    assert play(Refusal(), _answered(answer)) == Response({"content": REFUSAL, "tool_calls": [], key: ended})
    assert play(Refusal(), _answered({"content": "I", key: "cut"})) == Response({"content": REFUSAL, key: "cut"})


def test_refusal_of_a_model_that_answers_text_is_text() -> None:
    assert play(Refusal(), _answered("Done.")) == Response(REFUSAL)


@pytest.mark.parametrize("answer", [None, [1.0, 2.0], {"embedding": [1.0]}])
def test_refusal_leaves_other_answers_alone(answer: Plain) -> None:
    assert play(Refusal(), _answered(answer)) == Response(answer)
