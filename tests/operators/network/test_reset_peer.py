"""What `network.reset_peer` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.reset_peer import ResetPeer
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_the_connection_breaks_with_the_first_byte_of_the_answer() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = ResetPeer()

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("reset_peer", "downstream", {"timeout": 0}), 1)]
    assert operator.describe() == "the connection breaks as soon as something goes from the server, which is lost"
