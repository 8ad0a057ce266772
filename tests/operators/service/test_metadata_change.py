"""What `service.metadata_change` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.metadata_change import MetadataChange
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        (MetadataChange("time"), {"updated_at": "2026-02-28T09:30:00Z"}, {"updated_at": "2026-03-01T09:30:00Z"}),
        (MetadataChange("time"), {"date": "2026-12-31", "paid": True}, {"date": "2027-01-01", "paid": True}),
        (MetadataChange("time", steps=7), {"shippedAt": 1_700_000_000}, {"shippedAt": 1_700_604_800}),
        (MetadataChange("time"), {"created": 1_700_000_000_000}, {"created": 1_700_086_400_000}),
        (
            MetadataChange("time", "earlier"),
            {"timestamp": "2026-03-01 09:30:00+02:00"},
            {"timestamp": "2026-02-28 09:30:00+02:00"},
        ),
        (MetadataChange("clock", steps=90), {"paid_at": "2026-02-28T23:00:00Z"}, {"paid_at": "2026-03-01T00:30:00Z"}),
        (MetadataChange("zone", "earlier", 8), {"sent_at": 1_700_028_800}, {"sent_at": 1_700_000_000}),
        (MetadataChange("zone", "earlier"), {"date": "2026-03-01"}, {"date": "2026-03-01"}),
        (MetadataChange("version"), [{"version": 3}, {"etag": "W/v9"}], [{"version": 4}, {"etag": "W/v10"}]),
        (MetadataChange("version", "earlier"), {"revision": "0"}, {"revision": "0"}),
        (MetadataChange("id"), {"order_id": "A-1009", "amount": 7}, {"order_id": "A-1010", "amount": 7}),
        (MetadataChange("id"), {"customerId": "c-9", "paid": 1}, {"customerId": "c-10", "paid": 1}),
    ],
)
def test_metadata_change_moves_every_field_of_its_kind(operator: MetadataChange, before: Plain, after: Plain) -> None:
    assert play(operator, _answered(before)) == Response(after)


@pytest.mark.parametrize(
    "answer",
    [
        {"lifetime": 5, "update": "2026-01-01", "paid": 1},
        {"updated_at": "yesterday", "date": "9999-12-31", "created": True},
        {"timestamp": "2026-02-30"},
        "2026-01-01",
    ],
)
def test_metadata_change_leaves_what_is_no_time(answer: Plain) -> None:
    assert play(MetadataChange("time"), _answered(answer)) == Response(answer)


def test_more_steps_are_stronger() -> None:
    assert MetadataChange(steps=1).magnitude < MetadataChange(steps=365).magnitude <= 1.0


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        (MetadataChange("clock", steps=90), "every time in the answer is 90 minutes later"),
        (MetadataChange("zone", "earlier"), "every time in the answer is 1 hour earlier"),
        (MetadataChange("id"), "every id in the answer is 1 number later"),
    ],
)
def test_it_says_how_far(operator: MetadataChange, said: str) -> None:
    assert operator.describe() == said
