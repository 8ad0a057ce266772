"""What `network.slicer` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.slicer import Slicer
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_data_come_in_small_pieces() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = Slicer(size=8, seconds=0.002)

    assert play(operator, crossing) == answer
    assert crossing.toxics == [
        (Toxic("slicer", "downstream", {"average_size": 8, "size_variation": 0, "delay": 2000}), 1)
    ]
    assert operator.describe() == "what goes from the server comes in pieces of 8 bytes, 0.002 s apart"
