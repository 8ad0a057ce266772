"""What `service.dropped_response` does to a crossing."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.dropped_response import DroppedResponse
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


def test_dropped_response_lets_the_service_act_and_the_agent_wait_for_a_day() -> None:
    crossing = _answered("paid")

    response = play(DroppedResponse(), crossing)

    assert response.failure is not None
    assert response.failure.kind == "timeout"
    assert len(crossing.calls) == 1
    assert crossing.waits == [(86_400.0, 1)]
