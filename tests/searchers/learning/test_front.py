"""The Pareto front keeps exactly what nothing else is at least as good as."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.operators.service.delay import Delay
from chaosagent.searchers.learning.front import Front, Point


def schedule_of(number: int) -> Schedule:
    return schedule([inject(Hook("service:crm", "", number, number), Delay())])


objectives = st.tuples(st.integers(0, 6).map(float), st.integers(-3, 4).map(lambda quarter: quarter / 4))


@given(st.lists(objectives, max_size=30))
def test_the_front_is_what_no_other_point_is_at_least_as_good_as(drawn: list[tuple[float, float]]) -> None:
    points = [Point(cost, margin, schedule_of(number + 1)) for number, (cost, margin) in enumerate(drawn)]
    front = Front()

    for point in points:
        front.offer(point)

    pairs = set(drawn)
    best = {
        (cost, margin)
        for cost, margin in pairs
        if not any(other != (cost, margin) and other[0] <= cost and other[1] <= margin for other in pairs)
    }
    assert [(point.cost, point.margin) for point in front] == sorted(best)
    firsts = {next(point for point in points if (point.cost, point.margin) == pair).schedule for pair in best}
    assert {point.schedule for point in front} == firsts
    assert {point.schedule for point in points if point in front} == firsts


def test_offering_says_whether_the_point_was_taken() -> None:
    front = Front()

    taken = [
        front.offer(Point(cost, margin, schedule_of(number)))
        for number, (cost, margin) in enumerate([(1.0, 0.5), (2.0, 0.5), (2.0, 0.2), (0.5, 0.5), (2.0, 0.2)], start=1)
    ]

    assert taken == [True, False, True, True, False]
    assert [point.cost for point in front] == [0.5, 2.0]
    assert len(front) == 2
    assert front[1].margin == 0.2
