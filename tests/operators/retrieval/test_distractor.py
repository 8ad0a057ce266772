"""What `retrieval.distractor` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.retrieval.distractor import Distractor, contradicted
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.RETRIEVAL, Request("search", {"query": "refunds"}), Response(value)))


PASSAGES: Plain = [
    {"id": "kb-1", "text": "Refunds are paid within 30 days.", "score": 7.5},
    {"id": "kb-2", "text": "Opened goods are not taken back.", "score": 5.0},
    {"id": "kb-3", "text": "Parcels are tracked.", "score": 2.5},
]


def _ids(value: Plain) -> list[Plain]:
    assert isinstance(value, list)
    return [passage["id"] for passage in value if isinstance(passage, dict)]


@pytest.mark.parametrize(
    ("position", "ids"),
    [("last", ["kb-1", "kb-2", "kb-3", "kb-1-copy"]), ("first", ["kb-1-copy", "kb-1", "kb-2", "kb-3"])],
)
def test_distractor_adds_a_passage_that_contradicts_the_best_one(position: str, ids: list[str]) -> None:
    response = play(Distractor(position=position), _answered(PASSAGES))

    assert _ids(response.value) == ids
    assert isinstance(response.value, list)
    assert {"id": "kb-1-copy", "text": "Refunds are paid within 61 days.", "score": 7.5} in response.value


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Within 30 days, or 14.", "Within 61 days, or 14."),
        ("Opened goods are not taken back.", "Opened goods are taken back."),
        ("A refund can be refused.", "A refund can not be refused."),
        ("No refunds.", "No refunds."),
    ],
)
def test_a_contradiction_looks_alike(text: str, other: str) -> None:
    assert contradicted(text) == other


def test_a_text_that_cannot_be_turned_gets_no_distractor() -> None:
    assert play(Distractor(), _answered([{"text": "No refunds."}])) == Response([{"text": "No refunds."}])
