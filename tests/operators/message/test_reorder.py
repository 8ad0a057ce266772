"""What `message.reorder` does to a crossing."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.message.reorder import Reorder
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

SEND = Request("send", {"to": "verifier", "body": "check A-1"})
RECEIVE = Request("receive", {"agent": "verifier"})


def _crossing(request: Request) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MESSAGE, request, Response("answered")))


def test_reorder_delivers_later_and_lets_the_sender_go_on() -> None:
    crossing = _crossing(SEND)

    assert play(Reorder(seconds=5.0), crossing) == Response(None)
    assert crossing.deferred == [(5.0, SEND)]
    assert (crossing.calls, crossing.seconds) == ([], 0.0)


def test_reorder_leaves_other_operations_alone() -> None:
    crossing = _crossing(RECEIVE)

    assert play(Reorder(), crossing) == Response("answered")
    assert crossing.calls == [RECEIVE]
