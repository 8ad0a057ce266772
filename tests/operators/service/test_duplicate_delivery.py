"""What `service.duplicate_delivery` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.duplicate_delivery import DuplicateDelivery
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


def test_duplicate_delivery_reaches_the_service_twice() -> None:
    crossing = _answered("paid")

    response = play(DuplicateDelivery(), crossing)

    assert response == Response("paid")
    assert crossing.calls == [crossing.request, crossing.request]


@pytest.mark.parametrize(("which", "number"), [("first", 1), ("last", 2)])
def test_duplicate_delivery_shows_the_agent_one_of_the_answers(which: str, number: int) -> None:
    class Counting(FakeCrossing):
        async def proceed(self, request: Request) -> Response:
            await super().proceed(request)
            return Response(len(self.calls))

    response = play(DuplicateDelivery(which=which), Counting(_answered(None).sample))

    assert response == Response(number)
