"""What `prompt.paraphrase` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.prompt.paraphrase import Paraphrase
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Paraphrase, text: str) -> Plain:
    return play(operator, _answered(text)).value


def test_clauses_come_first_then_phrases_then_words() -> None:
    text = "If it is late, ask me. Do not wait. Refund it."

    assert _text(Paraphrase(tokens_max=6), text) == "Ask me if it is late. Do not wait. Refund it."
    assert _text(Paraphrase(tokens_max=8), text) == "Ask me if it is late. Don't wait. Refund it."
    assert _text(Paraphrase(tokens_max=16), text) == "Ask me if it is late. Don't wait. Reimburse it."


def test_names_and_numbers_stay() -> None:
    text = _text(
        Paraphrase(tokens_max=500), "Please refund order A-1006 (59.90 EUR) to ann@order.example by 2026-03-05."
    )

    assert text == "Kindly reimburse order A-1006 (59.90 EUR) to ann@order.example by 2026-03-05."


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}, {"text": ""}])
def test_paraphrase_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Paraphrase(), _answered(answer)) == Response(answer)
