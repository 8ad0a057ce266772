"""What `service.wrong_unit` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.wrong_unit import WrongUnit
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

ORDER: Plain = {"id": 7, "items": [{"price": 2.5}, {"price": 1}], "total": 3500, "version": 2, "paid": True}


def _played(operator: WrongUnit, answer: Plain) -> Plain:
    request = Request("get_order", {"order_id": "A-1"})
    return play(operator, FakeCrossing(Sample(Boundary.SERVICE, request, Response(answer)))).value


def test_all_numbers_of_one_name_are_in_another_unit() -> None:
    changed = _played(WrongUnit("hundredfold"), ORDER)

    assert changed == {"id": 7, "items": [{"price": 250.0}, {"price": 100}], "total": 3500, "version": 2, "paid": True}


@pytest.mark.parametrize(("total", "converted"), [(3500, 3.5), (3000, 3), (-2.0, -0.002)])
def test_a_thousandth_stays_whole_where_it_can(total: float, converted: float) -> None:
    changed = _played(WrongUnit("thousandth", field="total"), {"total": total, "price": 1})

    assert changed == {"total": converted, "price": 1}
    assert isinstance(changed, dict)
    assert type(changed["total"]) is type(converted)


def test_the_index_counts_names() -> None:
    assert _played(WrongUnit(index=1), ORDER) == {**dict(ORDER), "total": 350_000}  # type: ignore[arg-type]  # a dict
    assert _played(WrongUnit(index=2), ORDER) == ORDER


@pytest.mark.parametrize("answer", [None, "12", {"id": 3, "version": 4, "etag": 5}, {"total": 0}, {"total": 10**400}])
def test_what_is_no_quantity_stays(answer: Plain) -> None:
    assert _played(WrongUnit(), answer) == answer
