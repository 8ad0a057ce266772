"""What `prompt.payload` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.payloads import ENCODINGS, GOALS, payload
from chaosagent.operators.prompt.payload import Payload
from chaosagent.operators.texts import token_count
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Payload, text: str) -> Plain:
    return play(operator, _answered(text)).value


@pytest.mark.parametrize("goal", GOALS.levels)
@pytest.mark.parametrize("encoding", ENCODINGS.words)
@pytest.mark.parametrize("position", ["start", "end"])
def test_the_payload_stands_in_the_text(goal: str, encoding: str, position: str) -> None:
    operator = Payload(goal=goal, encoding=encoding, position=position, canary="merle-12")

    text = payload(goal, encoding, "merle-12")
    whole = f"{text}\n\nHello." if position == "start" else f"Hello.\n\n{text}"
    assert _text(operator, "Hello.") == whole
    assert operator.tokens == token_count(text)


def test_the_description_can_be_read_whatever_the_encoding() -> None:
    operator = Payload(goal="policy", encoding="zero_width", canary="<b>\n\x1b")

    assert operator.describe().isprintable()
    assert "POLICY UPDATE <b>" in operator.describe()
    assert "zero_width" in operator.describe()


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}])
def test_payload_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Payload(), _answered(answer)) == Response(answer)
