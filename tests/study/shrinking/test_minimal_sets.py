"""A schedule that holds a known counterexample tells of no weakness of its own."""

from __future__ import annotations

from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.study.shrinking.minimal_sets import MinimalSets

SHORT = parse("service:bank[1] service.delay(seconds=5.0)")
LONG = parse("service:bank[1] service.delay(seconds=60.0)")
ELSEWHERE = parse("service:bank[2] service.delay(seconds=5.0)")
BOTH = parse("service:bank[1] service.delay(seconds=60.0); service:bank[2] service.delay(seconds=5.0)")


def known(*schedules: Schedule) -> MinimalSets:
    sets = MinimalSets(CostModel())
    for schedule in schedules:
        sets.add(schedule)
    return sets


def test_nothing_is_held_where_nothing_is_known() -> None:
    assert not known().held_by(BOTH)


def test_a_dearer_injection_at_the_same_hook_holds_a_cheaper_one() -> None:
    assert known(SHORT).held_by(LONG)
    assert not known(LONG).held_by(SHORT)


def test_a_schedule_holds_the_parts_of_it() -> None:
    assert known(SHORT).held_by(BOTH)
    assert not known(BOTH).held_by(SHORT)
    assert not known(SHORT).held_by(ELSEWHERE)


def test_a_smaller_one_takes_the_place_of_those_that_hold_it() -> None:
    assert list(known(BOTH, ELSEWHERE, SHORT)) == [ELSEWHERE, SHORT]
    assert list(known(SHORT, BOTH)) == [SHORT]


def test_the_run_without_injections_is_held_by_every_schedule() -> None:
    assert known(EMPTY).held_by(SHORT)
