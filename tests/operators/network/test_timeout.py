"""What `network.timeout` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.timeout import Timeout
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_nothing_goes_through_until_the_connection_is_closed() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = Timeout(seconds=2.0, stream="upstream")

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("timeout", "upstream", {"timeout": 2000}), 1)]
    assert operator.describe() == "nothing goes through to the server, and after 2 s the connection is closed"
