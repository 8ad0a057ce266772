"""What `service.schema_mismatch` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.schema_mismatch import SchemaMismatch
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


@pytest.mark.parametrize(
    ("kind", "answer", "reshaped"),
    [
        ("typed", {"amount": 59.9, "items": [1], "paid": True}, {"amount": "59.9", "items": ["1"], "paid": True}),
        ("wrapped", [1, 2], {"data": [1, 2]}),
        ("renamed", {"order_id": 1, "status": {"paid_at": 2}}, {"orderId": 1, "Status": {"paidAt": 2}}),
        ("renamed", [{"a": 1}], [{"A": 1}]),
    ],
)
def test_schema_mismatch_keeps_the_facts_and_changes_the_shape(kind: str, answer: Plain, reshaped: Plain) -> None:
    assert play(SchemaMismatch(kind=kind), _answered(answer)) == Response(reshaped)


def test_a_renamed_key_never_displaces_another() -> None:
    answer: Plain = {"order_id": 1, "orderId": 2, "OrderId": 3}

    response = play(SchemaMismatch("renamed"), _answered(answer))

    assert isinstance(response.value, dict)
    assert sorted(map(str, response.value.values())) == ["1", "2", "3"]


@pytest.mark.parametrize("kind", ["typed", "wrapped", "renamed"])
def test_schema_mismatch_leaves_failures_alone(kind: str) -> None:
    failed = Response(failure=Failure("timeout", ""))
    crossing = FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {}), failed))

    assert play(SchemaMismatch(kind), crossing) == failed
