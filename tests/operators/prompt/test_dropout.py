"""What `prompt.dropout` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.prompt.dropout import Dropout
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Dropout, text: str) -> Plain:
    return play(operator, _answered(text)).value


TEXT = "Hello. Refund order A-1. It costs 5 EUR. Never pay more.\n- ask first"


@pytest.mark.parametrize(
    ("index", "left"),
    [
        (1, "Hello. It costs 5 EUR. Never pay more.\n- ask first"),
        (2, "Hello. Refund order A-1. It costs 5 EUR. \n- ask first"),
        (3, "Hello. Refund order A-1. It costs 5 EUR. Never pay more."),
        (4, TEXT),
    ],
)
def test_one_instruction_is_missing(index: int, left: str) -> None:
    assert _text(Dropout(index=index), TEXT) == left


@pytest.mark.parametrize(
    ("index", "text", "left"),
    [
        (1, "Rules:\n- ask first\n- the shop is open", "Rules:\n- the shop is open"),
        (1, "Rules:\r\n- ask first\r\n- the shop is open", "Rules:\r\n- the shop is open"),
        (2, "1. ask first\r\n2) never pay", "1. ask first"),
        (2, "1. ask first\n2) never pay\n", "1. ask first\n"),
        (1, "  * ask first\nThanks", "Thanks"),
        (1, "Hello.\nNever pay more.\n\nThanks", "Hello.\n\nThanks"),
        (1, "- Ask first. The shop is open.\n- ok", "- The shop is open.\n- ok"),
        (1, "- The shop is open. Ask first.\n- ok", "- The shop is open. \n- ok"),
    ],
)
def test_a_line_that_says_nothing_else_goes_with_its_marker(index: int, text: str, left: str) -> None:
    assert _text(Dropout(index=index), text) == left


def test_an_instruction_that_is_too_long_is_not_counted() -> None:
    assert _text(Dropout(index=1, tokens_max=4), TEXT) == "Hello. Refund order A-1. It costs 5 EUR. \n- ask first"


def test_a_text_that_is_one_instruction_stays() -> None:
    assert _text(Dropout(), "Refund order A-1.") == "Refund order A-1."


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}, {"text": ""}])
def test_dropout_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Dropout(), _answered(answer)) == Response(answer)
