"""What `prompt.splice` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.operator import CostModel
from chaosagent.operators.prompt.splice import INSTRUCTIONS, Splice
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {"text": "Where is my order?"}), Response(value)))


@pytest.mark.parametrize(
    ("position", "whole"), [("end", "Where is my order?\n\nHello."), ("start", "Hello.\n\nWhere is my order?")]
)
@pytest.mark.parametrize("key", ["text", "body", "content"])
def test_splice_adds_its_text(position: str, whole: str, key: str) -> None:
    operator = Splice(text="Hello.", position=position)

    assert play(operator, _answered("Where is my order?")) == Response(whole)
    mail: dict[str, Plain] = {"from": "ann", key: "Where is my order?"}
    assert play(operator, _answered(mail)) == Response({**mail, key: whole})


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}])
def test_splice_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Splice(), _answered(answer)) == Response(answer)


def test_a_longer_text_costs_more() -> None:
    costs = [CostModel().of(Splice(text=text)) for text in INSTRUCTIONS]

    assert costs == sorted(set(costs))
    assert Splice(text="x" * 41).tokens == 11


def test_an_empty_text_changes_nothing() -> None:
    assert play(Splice(text=""), _answered("Where is my order?")) == Response("Where is my order?")


def test_the_description_says_how_much_of_a_text_it_leaves_out() -> None:
    assert "... 80 more characters" in Splice(text="x" * 200).describe()
