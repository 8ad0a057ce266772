"""What `service.false_success` does to a crossing."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.service.false_success import FalseSuccess
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure

REFUND = Request("refund", {"order_id": "A-2", "amount": 10})


def _crossing(*history: Exchange, read_only: bool = False) -> FakeCrossing:
    answer = Response({"refund_id": "R-9"})
    return FakeCrossing(Sample(Boundary.SERVICE, REFUND, answer, history, read_only=read_only))


def _refunded(order_id: str, answer: Plain) -> Exchange:
    return Exchange(Request("refund", {"order_id": order_id, "amount": 5}), Response(answer))


def test_the_service_is_never_asked() -> None:
    crossing = _crossing()

    response = play(FalseSuccess(), crossing)

    assert response == Response({"order_id": "A-2", "amount": 10, "ok": True})
    assert crossing.calls == []


def test_the_answer_looks_like_the_last_good_one_and_speaks_of_this_request() -> None:
    crossing = _crossing(
        _refunded("A-0", {"refund_id": "R-0"}),
        _refunded("A-1", {"refund_id": "R-1", "order": {"order_id": "A-1"}, "amount": 5, "fee": 5}),
        Exchange(REFUND, Response(failure=Failure("timeout", ""))),
        Exchange(Request("get_order", {}), Response("shipped")),
    )

    response = play(FalseSuccess(), crossing)

    assert response == Response({"refund_id": "R-1", "order": {"order_id": "A-2"}, "amount": 10, "fee": 5})


def test_a_read_has_nothing_to_commit() -> None:
    crossing = _crossing(read_only=True)

    assert play(FalseSuccess(), crossing) == Response({"refund_id": "R-9"})
    assert crossing.calls == [REFUND]
