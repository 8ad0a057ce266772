"""What `network.latency` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.latency import Latency
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_every_piece_of_data_is_held_up() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = Latency(seconds=2.5, stream="upstream")

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("latency", "upstream", {"latency": 2500, "jitter": 0}), 1)]
    assert operator.describe() == "what goes to the server takes 2.5 s longer"
