"""What `network.limit_data` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.limit_data import LimitData
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_the_connection_is_closed_after_so_many_bytes() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = LimitData(size=5, stream="upstream")

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("limit_data", "upstream", {"bytes": 5}), 1)]
    assert operator.describe() == "the connection is closed after 5 more bytes to the server"
