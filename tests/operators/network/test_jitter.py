"""What `network.jitter` asks of a connection; what comes of it at a real one stands in `test_at_redis.py`."""

from __future__ import annotations

from chaosagent.faults.crossing import Request, Response, Toxic
from chaosagent.operators.network.jitter import Jitter
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def test_pieces_of_data_are_held_up_between_none_and_twice_the_mean() -> None:
    answer = Response({"balance": 60})
    crossing = FakeCrossing(Sample(Boundary.NETWORK, Request("transfer", {"amount": 40}), answer))
    operator = Jitter(seconds=0.2)

    assert play(operator, crossing) == answer
    assert crossing.toxics == [(Toxic("latency", "downstream", {"latency": 200, "jitter": 200}), 1)]
    assert operator.describe() == "what goes from the server takes up to 0.4 s longer, now more, now less"
