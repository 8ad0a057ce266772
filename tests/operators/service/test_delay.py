"""What `service.delay` does to a crossing."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.delay import Delay
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


def test_delay_hands_the_answer_on_after_its_seconds() -> None:
    crossing = _answered("paid")

    response = play(Delay(seconds=60.0), crossing)

    assert response == Response("paid")
    assert crossing.waits == [(60.0, 1)]


def test_a_longer_delay_is_stronger() -> None:
    assert 0.0 < Delay(seconds=5.0).magnitude < Delay(seconds=60.0).magnitude < 1.0
