"""What `service.partial_response` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.partial_response import PartialResponse
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


@pytest.mark.parametrize(
    ("share", "whole", "part"),
    [
        (0.5, [1, 2, 3, 4], [1, 2]),
        (0.01, [1, 2, 3, 4], [1, 2, 3]),
        (1.0, [1, 2, 3, 4], []),
        (0.5, {"b": 1, "a": 2}, {"a": 2}),
        (0.5, {"total": 4, "orders": [1, 2, 3, 4], "notes": [1]}, {"total": 4, "orders": [1, 2], "notes": [1]}),
        (0.5, "in transit", "in tr"),
        (1.0, {"status": "paid"}, {}),
    ],
)
def test_partial_response_loses_the_end(share: float, whole: Plain, part: Plain) -> None:
    assert play(PartialResponse(share=share), _answered(whole)) == Response(part)


@pytest.mark.parametrize("whole", [None, 7, [], {}, ""])
def test_partial_response_leaves_what_has_no_parts(whole: Plain) -> None:
    assert play(PartialResponse(share=1.0), _answered(whole)) == Response(whole)
