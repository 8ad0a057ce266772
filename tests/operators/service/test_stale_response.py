"""What `service.stale_response` does to a crossing."""

from __future__ import annotations

from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.service.stale_response import StaleResponse
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure

REQUEST = Request("get_order", {"order_id": "A-1"})


def test_stale_response_answers_what_the_service_said_before() -> None:
    history = (Exchange(REQUEST, Response("paid")), Exchange(Request("get_order", {"order_id": "B"}), Response("new")))
    crossing = FakeCrossing(Sample(Boundary.SERVICE, REQUEST, Response("shipped"), history))

    response = play(StaleResponse(), crossing)

    assert response == Response("paid")
    assert len(crossing.calls) == 1


def test_stale_response_prefers_what_the_interface_declares() -> None:
    history = (Exchange(REQUEST, Response("paid")),)
    crossing = FakeCrossing(Sample(Boundary.SERVICE, REQUEST, Response("shipped"), history, stale=Response("new")))

    assert play(StaleResponse(), crossing) == Response("new")


def test_stale_response_without_an_earlier_answer_changes_nothing() -> None:
    failed = Exchange(REQUEST, Response(failure=Failure("timeout", "")))
    crossing = FakeCrossing(Sample(Boundary.SERVICE, REQUEST, Response("shipped"), (failed,)))

    assert play(StaleResponse(), crossing) == Response("shipped")
