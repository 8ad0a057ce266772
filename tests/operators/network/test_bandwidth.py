"""What `network.bandwidth` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.bandwidth import Bandwidth
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_few_kilobytes_go_through_in_a_second() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = Bandwidth(rate=7)

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("bandwidth", "downstream", {"rate": 7}), 1)]
    assert operator.describe() == "7 kB a second go through from the server"
