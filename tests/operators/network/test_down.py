"""What `network.down` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.down import Down
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_no_connection_is_to_be_had() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = Down()

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("down", ""), 1)]
    assert operator.describe() == "no connection to the server, neither an old one nor a new one"
