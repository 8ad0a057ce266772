"""Intervals of levels: what stands for them, what it costs, and how they are cut."""

from __future__ import annotations

import pytest

from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.proof.intervals import IntervalSpace, Rung
from chaosagent.vocabulary import Boundary

SECONDS = (5.0, 20.0, 60.0, 120.0)
LATE = Choices("service.delay", {"seconds": SECONDS})
LOST = Choices("service.lost_response", {"when": ("before",)})


@pytest.fixture
def space() -> IntervalSpace:
    return IntervalSpace(Space([LATE, LOST], CostModel(c_mag=0.5)))


def late(*seconds: float) -> Schedule:
    """Return a schedule of one delay for each service, from the first."""
    return parse("; ".join(f"service:s{n}[1] service.delay(seconds={late})" for n, late in enumerate(seconds)))


def rung(space: IntervalSpace, seconds: float, service: int = 0) -> Rung:
    found = space.rung_of(next(iter(parse(f"service:s{service}[1] service.delay(seconds={seconds})"))))
    assert found is not None
    return found


def offered(space: IntervalSpace) -> list[tuple[str, float]]:
    """Return the delays that are offered at the first service, and at what cost."""
    found = space.at(Boundary.SERVICE, "service:s0", "")
    assert [priced.cost for priced in found] == sorted(priced.cost for priced in found)
    return [(priced.operator.describe(), priced.cost) for priced in found if priced.operator.name == "service.delay"]


def test_an_interval_is_offered_as_its_strongest_level_at_the_cost_of_its_weakest(space: IntervalSpace) -> None:
    costs = [space.model.of(one.operator) for one in sorted(late(*SECONDS), key=str)]
    assert costs == sorted(costs)

    (whole,) = offered(space)
    assert space.cut(late(SECONDS[3]))
    lower, upper = offered(space)

    assert "120" in whole[0]
    assert (whole[1], lower[1], upper[1]) == (costs[0], costs[0], costs[2])
    assert "20" in lower[0]
    assert "120" in upper[0]
    assert [(rung(space, seconds).first, rung(space, seconds).last) for seconds in SECONDS] == [
        (0, 1),
        (0, 1),
        (2, 3),
        (2, 3),
    ]
    assert [space.floor(late(seconds)) for seconds in SECONDS] == [costs[0], costs[0], costs[2], costs[2]]


def test_the_interval_is_cut_whose_weakest_level_is_cheaper_by_most(space: IntervalSpace) -> None:
    assert space.cut(late(5.0, 120.0))
    assert (rung(space, 120.0, 0).first, rung(space, 120.0, 1).first) == (0, 2)

    assert space.cut(late(120.0, 120.0))

    assert (rung(space, 120.0, 0).first, rung(space, 120.0, 1).first) == (2, 2)


def test_a_schedule_is_cut_until_nothing_in_its_intervals_is_cheaper(space: IntervalSpace) -> None:
    schedule = late(60.0)
    cuts = 0
    while space.cut(schedule):
        cuts += 1

    assert 0 < cuts < len(SECONDS)
    assert space.floor(schedule) == schedule.declared_cost(space.model)
    assert not space.cut(parse("service:s0[1] service.lost_response(when=before)"))


@pytest.mark.parametrize("cost_max", [0.0, 1.1, 1.3, 2.3, 2.5, 2.8, 10.0])
def test_it_counts_the_others_that_a_schedule_stands_for(space: IntervalSpace, cost_max: float) -> None:
    lost = next(iter(parse("service:s2[1] service.lost_response(when=before)")))
    for schedule in (late(120.0), late(120.0, 120.0), late(120.0).with_injection(lost), late(120.0, 20.0)):
        weaker = list(space.weaker(schedule))
        costs = [one.declared_cost(space.model) for one in weaker if one != schedule]
        is_strongest = "seconds=20" not in str(schedule)

        assert weaker.count(schedule) == 1
        assert len(set(weaker)) == len(weaker)
        assert space.stands_for(schedule, cost_max) == is_strongest * sum(cost <= cost_max for cost in costs)


def test_schedules_that_differ_in_levels_alone_have_one_skeleton(space: IntervalSpace) -> None:
    bones, levels = space.skeleton(late(5.0, 120.0))

    assert space.skeleton(late(20.0, 60.0)) == (bones, (1, 2))
    assert levels == (0, 3)
    assert space.skeleton(late(5.0))[0] != bones
    assert space.skeleton(parse("service:s0[2] service.delay(seconds=5)"))[0] != space.skeleton(late(5.0))[0]
    lost = [parse(f"service:s0[1] service.lost_response(when={when})") for when in ("before", "after")]
    assert space.skeleton(lost[0])[0] != space.skeleton(lost[1])[0]
