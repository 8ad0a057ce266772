"""What `service.timeout` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.timeout import Timeout
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


@pytest.mark.parametrize(("when", "calls"), [("before", 0), ("after", 1)])
def test_timeout_says_on_which_side_of_the_commit_it_lies(when: str, calls: int) -> None:
    crossing = _answered("paid")

    response = play(Timeout(when=when, seconds=30.0), crossing)

    assert response.failure is not None
    assert response.failure.kind == "timeout"
    assert response.value is None
    assert (len(crossing.calls), crossing.seconds) == (calls, 30.0)
