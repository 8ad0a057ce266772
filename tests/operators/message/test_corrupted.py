"""What `message.corrupted` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.message.corrupted import Corrupted
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

BODY: Plain = {"amount": 60, "order": {"id": "A-1", "paid": True}}


def _sent(operator: Corrupted, request: Request) -> Request:
    crossing = FakeCrossing(Sample(Boundary.MESSAGE, request, Response(None)))
    assert play(operator, crossing) == Response(None)
    (sent,) = crossing.calls
    return sent


@pytest.mark.parametrize(
    ("operator", "body"),
    [
        (Corrupted("garbled"), {"amount": 60, "order": {"id": "-A1", "paid": True}}),
        (Corrupted("zero"), {"amount": 0, "order": {"id": "A-1", "paid": True}}),
        (Corrupted("null", 1), {"amount": 60, "order": {"id": None, "paid": True}}),
        (Corrupted("negated", 1), {"amount": 60, "order": {"id": "A-1", "paid": False}}),
        (Corrupted("zero", 1), BODY),
    ],
)
def test_one_field_of_the_body_is_wrong_and_the_rest_is_right(operator: Corrupted, body: Plain) -> None:
    request = Request("send", {"to": "verifier", "body": BODY})

    assert _sent(operator, request) == Request("send", {"to": "verifier", "body": body})


def test_a_body_that_is_a_text_is_one_field() -> None:
    assert _sent(Corrupted(), Request("send", {"to": "a", "body": "pay"})).arguments == {"to": "a", "body": "apy"}


@pytest.mark.parametrize("request_", [Request("receive", {"body": "pay"}), Request("send", {"to": "a"})])
def test_what_hands_nothing_over_is_untouched(request_: Request) -> None:
    assert _sent(Corrupted(), request_) == request_
