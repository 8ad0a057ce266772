"""What `retrieval.empty` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.retrieval.empty import Empty
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _played(answer: Plain) -> Plain:
    request = Request("search", {"query": "refunds"})
    return play(Empty(), FakeCrossing(Sample(Boundary.RETRIEVAL, request, Response(answer)))).value


@pytest.mark.parametrize("count", [1, 200])
def test_no_passage_is_left(count: int) -> None:
    passages: Plain = [{"id": str(number), "text": "Yes."} for number in range(count)]

    assert _played(passages) == []
    assert _played({"passages": passages, "query": "refunds"}) == {"passages": [], "query": "refunds"}


@pytest.mark.parametrize("answer", [None, [], "text", {"passages": []}])
def test_what_has_no_passages_stays(answer: Plain) -> None:
    assert _played(answer) == answer
