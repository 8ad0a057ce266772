"""What `retrieval.stale_index` does to a crossing."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.retrieval.stale_index import StaleIndex
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

SEARCH = Request("search", {"query": "refunds"})
OLD: Plain = {"id": "kb-1", "text": "Within 30 days."}
NEW: Plain = {"id": "kb-1", "text": "Within 14 days."}
OTHER: Plain = {"id": "kb-2", "text": "Closed on Sundays."}


def _played(answer: Plain, *history: Exchange, stale: Response | None = None) -> Response:
    return play(StaleIndex(), FakeCrossing(Sample(Boundary.RETRIEVAL, SEARCH, Response(answer), history, stale)))


def _found(query: str, *passages: Plain) -> Exchange:
    return Exchange(Request("search", {"query": query}), Response({"passages": list(passages)}))


def test_the_same_query_is_answered_as_before() -> None:
    before = Exchange(SEARCH, Response([OLD]))

    assert _played([NEW, OTHER], before) == Response([OLD])


def test_what_the_interface_declares_comes_first() -> None:
    before = Exchange(SEARCH, Response([NEW]))

    assert _played([NEW, OTHER], before, stale=Response([OLD])) == Response([OLD])


def test_a_passage_comes_as_another_query_has_shown_it_first() -> None:
    response = _played([OTHER, NEW], _found("money back", OLD), _found("days", NEW))

    assert response == Response([OTHER, OLD])


def test_a_score_of_another_query_is_not_taken_over() -> None:
    def scored(passage: Plain, score: float) -> Plain:
        assert isinstance(passage, dict)
        return {**passage, "score": score}

    assert _played([scored(NEW, 0.2)], _found("days", scored(OLD, 0.9))) == Response([scored(OLD, 0.2)])
    assert _played([scored(NEW, 0.2)], _found("days", scored(NEW, 0.9))) == Response([scored(NEW, 0.2)])


def test_without_an_older_version_nothing_happens() -> None:
    unknown: Plain = [{"text": "Without id."}, NEW]

    assert _played(unknown, _found("hours", {"text": "Another without id."}, OTHER)) == Response(unknown)
