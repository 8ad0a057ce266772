"""What `message.drop` does to a crossing."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.message.drop import Drop
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

SEND = Request("send", {"to": "verifier", "body": "check A-1"})
RECEIVE = Request("receive", {"agent": "verifier"})


def _crossing(request: Request) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MESSAGE, request, Response("answered")))


def test_drop_keeps_the_message_from_its_recipient_without_an_error() -> None:
    crossing = _crossing(SEND)

    assert play(Drop(), crossing) == Response(None)
    assert crossing.calls == []


def test_drop_leaves_other_operations_alone() -> None:
    crossing = _crossing(RECEIVE)

    assert play(Drop(), crossing) == Response("answered")
    assert crossing.calls == [RECEIVE]
