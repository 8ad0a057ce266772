"""What `service.field_corruption` does to a crossing."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.corruption import garble
from chaosagent.operators.service.field_corruption import FieldCorruption
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


ORDER: Plain = {"amount": 59.9, "items": [{"count": 2, "sku": "S-17"}], "open": True, "status": "paid"}


@pytest.mark.parametrize(
    ("operator", "changed"),
    [
        (FieldCorruption("garbled"), {"items": [{"count": 2, "sku": "-S71"}]}),
        (FieldCorruption("garbled", index=1), {"status": "apdi"}),
        (FieldCorruption("zero"), {"amount": 0.0}),
        (FieldCorruption("zero", index=1), {"items": [{"count": 0, "sku": "S-17"}]}),
        (FieldCorruption("null", field="status"), {"status": None}),
        (FieldCorruption("negated"), {"amount": -59.9}),
        (FieldCorruption("negated", field="open"), {"open": False}),
        (FieldCorruption("swapped", field="s*"), {"items": [{"count": 2, "sku": "paid"}], "status": "S-17"}),
        (FieldCorruption("zero", field="items.*.count"), {"items": [{"count": 0, "sku": "S-17"}]}),
    ],
)
def test_field_corruption_changes_one_field(operator: FieldCorruption, changed: dict[str, Plain]) -> None:
    assert isinstance(ORDER, dict)

    response = play(operator, _answered(ORDER))

    assert response == Response({**ORDER, **changed})


@pytest.mark.parametrize(
    "operator", [FieldCorruption(field="nothing"), FieldCorruption(index=99), FieldCorruption("zero", field="status")]
)
def test_field_corruption_without_such_a_field_changes_nothing(operator: FieldCorruption) -> None:
    assert play(operator, _answered(ORDER)) == Response(ORDER)


def test_a_field_that_would_stay_the_same_does_not_count() -> None:
    response = play(FieldCorruption("zero"), _answered({"a": 0, "b": 5}))

    assert response == Response({"a": 0, "b": 0})


@given(st.text(min_size=1))
def test_garbled_text_differs_and_keeps_its_length(text: str) -> None:
    assume(set(text) != {"\N{REPLACEMENT CHARACTER}"})

    assert garble(text) != text
    assert len(garble(text)) == len(text)
