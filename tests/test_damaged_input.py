"""Damaged and odd files, a few of those that `python -m tests.lab.damage` makes; stores are in `study`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.damage.odd_values import BACKTRACKING
from tests.lab.damage.outcome import Case, Outcome, outcome_of
from tests.lab.damage.records import attack_record
from tests.lab.damage.spans import attack_spans
from tests.lab.damage.studies import attack_study


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "count"), [(attack_record, 300), (attack_study, 100), (attack_spans, 40)])
def test_damaged_input_is_refused_or_read_and_neither_crashes_nor_hangs(
    attack: Callable[[int], Case], count: int
) -> None:
    cases = [attack(number) for number in range(count)]

    assert [case for case in cases if case.is_wrong] == []
    assert {case.outcome for case in cases} == {Outcome.REFUSED, Outcome.SAME}


def test_what_hangs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.lab.damage.outcome.CPU_SECONDS_MAX", 0.05)

    def hang() -> str:
        import re

        return str(re.search(BACKTRACKING, "a" * 40 + "!"))

    assert outcome_of(hang)[0] is Outcome.HUNG
