"""What `model.empty` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.empty import Empty
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", {}), Response(value)))


def test_nothing_is_left_of_an_answer_but_what_is_about_it() -> None:
    answer: Plain = {"content": "Done.", "tool_calls": [{"name": "pay", "arguments": {}}], "model": "m"}

    assert play(Empty(), _answered(answer)) == Response({"content": "", "tool_calls": [], "model": "m"})
    assert play(Empty(), _answered("Done.")) == Response("")
    assert play(Empty(), _answered({"content": None})) == Response({"content": ""})


@pytest.mark.parametrize("answer", [None, 7, {"embedding": [1.0]}])
def test_empty_leaves_other_answers_alone(answer: Plain) -> None:
    assert play(Empty(), _answered(answer)) == Response(answer)
