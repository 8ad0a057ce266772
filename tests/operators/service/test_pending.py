"""What `service.pending` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.pending import Pending
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _played(answer: Plain) -> Plain:
    request = Request("get_approval", {"id": "AP-1"})
    return play(Pending(), FakeCrossing(Sample(Boundary.SERVICE, request, Response(answer)))).value


@pytest.mark.parametrize(
    ("decided", "undecided"),
    [
        ({"status": "approved", "amount": 5}, {"status": "pending", "amount": 5}),
        ({"approval_status": "GRANTED"}, {"approval_status": "PENDING"}),
        ({"requests": [{"state": "Denied"}]}, {"requests": [{"state": "Pending"}]}),
        ({"approved": True, "ok": True}, {"approved": None, "ok": True}),
        ({"is_approved": False}, {"is_approved": None}),
        ({"job": "J-1", "done": True}, {"job": "J-1", "done": False}),
    ],
)
def test_what_is_decided_or_done_is_not_yet(decided: Plain, undecided: Plain) -> None:
    assert _played(decided) == undecided


@pytest.mark.parametrize(
    "address",
    [
        {"street": "1 Main St", "city": "Reno", "state": "NV"},
        {"address": {"state": "Nevada"}},
        {"shipping_address": [{"state": "Nevada"}]},
        {"billing_state": "nevada", "billing_zip": "89501"},
        {"shippingState": "Nevada", "shippingPostalCode": "89501"},
        {"name": "Ann", "state": "CA"},
    ],
)
def test_the_state_of_an_address_is_no_status(address: Plain) -> None:
    assert _played(address) == address


@pytest.mark.parametrize(
    ("order", "undecided"),
    [
        ({"city": "Reno", "status": "paid"}, {"city": "Reno", "status": "pending"}),
        ({"city": "Reno", "order_state": "paid"}, {"city": "Reno", "order_state": "pending"}),
        ({"state": "OK"}, {"state": "PENDING"}),
        (
            {"state": "paid", "address": {"city": "Reno", "state": "NV"}},
            {"state": "pending", "address": {"city": "Reno", "state": "NV"}},
        ),
    ],
)
def test_a_status_near_an_address_is_still_one(order: Plain, undecided: Plain) -> None:
    assert _played(order) == undecided


@pytest.mark.parametrize(
    "answer", [None, "approved", {"status": 200}, {"status": "pending"}, {"done": False}, {"a": 1}]
)
def test_what_says_nothing_of_the_kind_stays(answer: Plain) -> None:
    assert _played(answer) == answer
