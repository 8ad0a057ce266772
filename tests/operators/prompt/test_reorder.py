"""What `prompt.reorder` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.prompt.reorder import Reorder
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Reorder, text: str) -> Plain:
    return play(operator, _answered(text)).value


TEXT = "Be polite. Ask first. It is late.\n1. check A\n2. check B\n3. C is open"


@pytest.mark.parametrize(
    ("unit", "kind", "other"),
    [
        ("items", "swapped", "Be polite. Ask first. It is late.\n1. check B\n2. check A\n3. C is open"),
        ("items", "reversed", "Be polite. Ask first. It is late.\n1. C is open\n2. check B\n3. check A"),
        ("instructions", "swapped", "Be polite. check A It is late.\n1. Ask first.\n2. check B\n3. C is open"),
        ("sentences", "swapped", "Ask first. Be polite. It is late.\n1. check A\n2. check B\n3. C is open"),
    ],
)
def test_parts_change_places_and_markers_stay(unit: str, kind: str, other: str) -> None:
    assert _text(Reorder(unit=unit, kind=kind), TEXT) == other


def test_as_many_of_the_first_parts_as_are_allowed_are_reversed() -> None:
    assert _text(Reorder(kind="reversed", tokens_max=9), "Aaa. Bb. C. D.") == "D. C. Bb. Aaa."
    assert _text(Reorder(kind="reversed", tokens_max=3), "Aaa. Bb. C. D.") == "C. Bb. Aaa. D."
    assert _text(Reorder(kind="reversed", tokens_max=1), "Aaa. Bb. C. D.") == "Aaa. Bb. C. D."


def test_reorder_loses_and_adds_nothing() -> None:
    other = _text(Reorder(unit="sentences", kind="reversed", tokens_max=500), TEXT)

    assert isinstance(other, str)
    assert sorted(other) == sorted(TEXT)


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}, {"text": ""}])
def test_reorder_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Reorder(), _answered(answer)) == Response(answer)
