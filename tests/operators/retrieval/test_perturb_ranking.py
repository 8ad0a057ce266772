"""What `retrieval.perturb_ranking` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.retrieval.perturb_ranking import PerturbRanking
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
    ("kind", "ids"), [("rotated", ["kb-2", "kb-3", "kb-1"]), ("reversed", ["kb-3", "kb-2", "kb-1"])]
)
def test_perturb_ranking_moves_passages_and_leaves_scores_with_the_ranks(kind: str, ids: list[str]) -> None:
    response = play(PerturbRanking(kind=kind), _answered(PASSAGES))

    assert _ids(response.value) == ids
    assert isinstance(response.value, list)
    assert [passage["score"] for passage in response.value if isinstance(passage, dict)] == [7.5, 5.0, 2.5]


def test_perturb_ranking_needs_no_scores() -> None:
    response = play(PerturbRanking("reversed"), _answered([{"id": 1}, {"id": 2, "score": 1.0}]))

    assert response == Response([{"id": 2, "score": 1.0}, {"id": 1}])


def test_one_passage_has_no_other_ranking() -> None:
    assert play(PerturbRanking(), _answered([{"id": 1}])) == Response([{"id": 1}])


def test_shuffled_passages_keep_the_scores_of_the_ranks_and_depend_on_the_seed_alone() -> None:
    sample = Sample(Boundary.RETRIEVAL, Request("search", {"query": "refunds"}), Response(PASSAGES))
    orders = [
        tuple(map(str, _ids(play(PerturbRanking("shuffled"), FakeCrossing(sample, seed)).value)))
        for seed in [*range(20), *range(20)]
    ]

    assert orders[:20] == orders[20:]
    assert len(set(orders)) > 1
    assert {tuple(sorted(order)) for order in orders} == {("kb-1", "kb-2", "kb-3")}


def test_rescored_passages_stay_where_they_are() -> None:
    response = play(PerturbRanking("rescored"), _answered(PASSAGES))

    assert _ids(response.value) == ["kb-1", "kb-2", "kb-3"]
    assert isinstance(response.value, list)
    assert [passage["score"] for passage in response.value if isinstance(passage, dict)] == [2.5, 5.0, 7.5]
