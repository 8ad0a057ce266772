"""What `service.lost_response` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.lost_response import LostResponse
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


@pytest.mark.parametrize(("when", "calls"), [("before", 0), ("after", 1)])
def test_lost_response_says_on_which_side_of_the_commit_it_lies(when: str, calls: int) -> None:
    crossing = _answered("paid")

    response = play(LostResponse(when=when), crossing)

    assert response == Response(failure=Failure("connection", "connection reset by peer"))
    assert (len(crossing.calls), crossing.seconds) == (calls, 0.0)
