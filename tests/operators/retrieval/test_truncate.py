"""What `retrieval.truncate` does to a crossing."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.retrieval.truncate import Truncate
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.RETRIEVAL, Request("search", {"query": "refunds"}), Response(value)))


def test_truncate_cuts_every_text_and_nothing_else() -> None:
    response = play(Truncate(share=0.5), _answered([{"id": "a", "text": "12345678"}, {"id": "b", "title": "whole"}]))

    assert response == Response([{"id": "a", "text": "1234"}, {"id": "b", "title": "whole"}])


def test_truncate_cuts_at_least_one_character() -> None:
    assert play(Truncate(share=0.01), _answered([{"text": "abc"}])) == Response([{"text": "ab"}])
