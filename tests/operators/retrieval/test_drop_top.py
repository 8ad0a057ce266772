"""What `retrieval.drop_top` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.retrieval.drop_top import DropTop
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


def test_drop_top_leaves_the_best_passages_out() -> None:
    assert _ids(play(DropTop(count=1), _answered(PASSAGES)).value) == ["kb-2", "kb-3"]
    assert _ids(play(DropTop(count=3), _answered(PASSAGES)).value) == []


def test_drop_top_finds_passages_inside_a_mapping() -> None:
    response = play(DropTop(), _answered({"total": 3, "hits": PASSAGES}))

    assert isinstance(response.value, dict)
    assert response.value["total"] == 3
    assert _ids(response.value["hits"]) == ["kb-2", "kb-3"]


@pytest.mark.parametrize("answer", [None, [], "text", ["a", "b"], {"hits": []}])
def test_drop_top_leaves_answers_without_passages_alone(answer: Plain) -> None:
    assert play(DropTop(), _answered(answer)) == Response(answer)
