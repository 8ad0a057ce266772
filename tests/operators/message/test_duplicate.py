"""What `message.duplicate` does to a crossing."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.message.duplicate import Duplicate
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

SEND = Request("send", {"to": "verifier", "body": "check A-1"})
RECEIVE = Request("receive", {"agent": "verifier"})


def _crossing(request: Request) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MESSAGE, request, Response("answered")))


def test_duplicate_delivers_the_message_twice() -> None:
    crossing = _crossing(SEND)

    assert play(Duplicate(), crossing) == Response("answered")
    assert crossing.calls == [SEND, SEND]


def test_duplicate_leaves_other_operations_alone() -> None:
    crossing = _crossing(RECEIVE)

    assert play(Duplicate(), crossing) == Response("answered")
    assert crossing.calls == [RECEIVE]
