"""The size of the space is what enumeration counts, as long as faults open no further calls."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.study.levels import Levels, schedules_by_level
from chaosagent.testing.bench import Bench
from tests.lab.targets.programs import Pay, Program, Read, target_of

SPACE = Space(
    [
        Choices("service.lost_response", {"when": ("before", "after")}),
        Choices("service.delay", {"seconds": (5.0, 60.0)}),
    ]
)
BENCH = Bench(target_of(Program((Read(0, "x", "a"), Read(1, "y", "b"), Pay("a")))), [parse_contract("no-leak")], SPACE)


@pytest.mark.parametrize("budget", [0.5, 1.04, 2.3, 3.5])
def test_it_is_the_number_of_combinations(budget: float) -> None:
    nominal = BENCH.run(EMPTY)
    calls = [
        [0.0, *(one.cost for one in SPACE.at(crossing.boundary, crossing.place.interface, crossing.place.agent))]
        for crossing in nominal.crossings
    ]
    by_hand = Counter(int(sum(costs) + 1e-6) for costs in product(*calls) if 0 < sum(costs) <= budget + 1e-6)

    counted = schedules_by_level(nominal, SPACE, budget)

    assert set(counted) == set(by_hand)
    for level, number in by_hand.items():
        assert counted[level] == pytest.approx(number, rel=0.1)  # costs are rounded


def test_a_level_is_through_when_nothing_there_is_left_to_prove() -> None:
    levels = Levels(SPACE, 2.3)

    assert [level.searches_over for level in levels.told([0.0, 1.5, 2.0], 3)] == [1, 0]
    assert [level.searches_over for level in levels.told([2.3], 3)] == [3, 2]
    assert [level.searches_over for level in levels.told([], 3)] == [3, 3]
