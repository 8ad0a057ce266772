"""What `network.slow_close` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.slow_close import SlowClose
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_a_connection_stays_open() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = SlowClose(seconds=1.0)

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("slow_close", "downstream", {"delay": 1000}), 1)]
    assert operator.describe() == "a connection that is closed stays open from the server for 1 s"
