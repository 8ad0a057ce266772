"""Swim lanes show what the table of steps shows: each call once, and what was done to it and came of it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from chaosagent.report.html.lanes import COLUMNS_MAX, LANES_MAX, lanes_of
from chaosagent.report.html.side_by_side import Row, Side, rows_of
from chaosagent.report.html.study_facts import StudyFacts


def row(interface: str, *, landed: bool = False, is_first: bool = False, only_without: bool = False) -> Row:
    side = Side(f"service:{interface}[1]", "get()", "1")
    here = None if only_without else side
    return Row(0, here, side, is_equal=not is_first, is_first=is_first, injected="a fault" if landed else "", at="1 s")


def test_the_lanes_of_a_counterexample_show_its_fault_its_effects_and_where_it_breaks(broken: StudyFacts) -> None:
    stored = broken.counterexamples[0]
    rows = rows_of(stored.record.trace, stored.calls, stored.record.contract)

    lanes = lanes_of(rows, broken_at_end=False)

    assert lanes is not None
    assert {lane.name for lane in lanes.lanes} >= {"service:payments", "service:log"}
    kinds = Counter(mark.kind for mark in lanes.marks)
    assert kinds["injected"] == sum(bool(one.injected) for one in rows) == 1
    assert kinds["committed"] == sum(bool(one.committed) for one in rows)
    assert kinds["broken"] == sum(bool(one.broken) for one in rows)
    assert lanes.differs_at is not None
    assert lanes.other


def test_a_call_that_only_the_run_without_faults_makes_is_told_apart() -> None:
    lanes = lanes_of([row("a"), row("b", is_first=True, only_without=True)], broken_at_end=True)

    assert lanes is not None
    assert [mark.kind for mark in lanes.marks] == ["call", "other", "broken"]


def test_a_single_step_needs_no_picture() -> None:
    assert lanes_of([row("a")], broken_at_end=False) is None


@given(st.lists(st.sampled_from([f"door{number}" for number in range(30)]), min_size=2, max_size=120))
def test_long_runs_and_many_interfaces_stay_within_the_picture_and_say_what_is_left(names: list[str]) -> None:
    lanes = lanes_of([row(name) for name in names], broken_at_end=False)

    assert lanes is not None
    assert len(lanes.lanes) <= LANES_MAX
    assert len(lanes.marks) + lanes.left == len(names)
    assert len(lanes.marks) <= COLUMNS_MAX
    assert all(0 < mark.at < lanes.width and 0 < mark.height < lanes.height for mark in lanes.marks)
    assert [time.text for time in lanes.times] == ["1 s"], "a time stands where it changes"


def test_the_runs_begin_right_of_the_names() -> None:
    rows = [row(name) for name in ("a", "get_scheduled_transactions", "a" * 60)]

    lanes = lanes_of(rows, broken_at_end=False)

    assert lanes is not None
    assert [lane.name for lane in lanes.lanes][1] == "service:get_scheduled_transactions"
    assert min(mark.at for mark in lanes.marks) > 6.5 * max(len(lane.name) for lane in lanes.lanes)
