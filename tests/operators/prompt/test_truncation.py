"""What `prompt.truncation` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.prompt.truncation import Truncation
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Truncation, text: str) -> Plain:
    return play(operator, _answered(text)).value


@pytest.mark.parametrize(
    ("share", "tokens_max", "left"), [(0.25, 64, 75), (0.5, 64, 50), (0.5, 5, 80), (1.0, 64, 0), (0.01, 64, 99)]
)
def test_the_end_is_missing_within_both_bounds(share: float, tokens_max: int, left: int) -> None:
    text = "0123456789" * 10

    assert _text(Truncation(share=share, tokens_max=tokens_max), text) == text[:left]


def test_at_least_one_character_is_lost() -> None:
    assert _text(Truncation(share=0.01), "abc") == "ab"


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}, {"text": ""}])
def test_truncation_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Truncation(), _answered(answer)) == Response(answer)
