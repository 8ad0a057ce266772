"""The children of one schedule, one after the other."""

from __future__ import annotations

import heapq

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.searchers.proof.frontier import Child, Family, Origin
from chaosagent.searchers.seen.points import Candidate

INJECTIONS = tuple(parse("; ".join(f"service:s[{number}] service.lost_response" for number in range(1, 5))))
KNOWN = [
    Candidate(cost, position, injection)
    for (cost, position), injection in zip([(1.1, 6), (1.2, 2), (1.3, 4), (1.4, 1)], INJECTIONS, strict=True)
]
AFFORDABLE = 3


def family(last: float = float("inf"), acted: int = 0) -> Family:
    return Family(Origin(EMPTY, 0.5, acted, Evaluation(EMPTY)), KNOWN, AFFORDABLE, last, 0)


def children(found: Family) -> list[Child]:
    listed = []
    while (child := found.next_child()) is not None:
        listed.append(child)
    return listed


def test_children_come_in_the_order_of_cost_as_far_as_they_can_be_afforded() -> None:
    found = children(family())

    assert [(child.cost, child.position, child.injection) for child in found] == [
        (1.6, 6, INJECTIONS[0]),
        (1.7, 2, INJECTIONS[1]),
        (1.8, 4, INJECTIONS[2]),
    ]
    assert [child.schedule for child in found] == [EMPTY.with_injection(one) for one in INJECTIONS[:3]]


def test_what_another_schedule_stands_for_is_left_out_everywhere() -> None:
    every, some = family(), family(last=4)

    assert [child.position for child in children(some)] == [2, 4]
    assert (every.waiting, some.waiting) == (3, 2)
    assert [one.position for one in every.candidates] == [6, 2, 4]
    assert [one.position for one in some.candidates] == [2, 4]


def test_of_equal_costs_those_come_first_whose_parent_acted_late() -> None:
    early, late = (family(acted=acted).next_child() for acted in (1, 5))
    assert early is not None
    assert late is not None

    frontier = [early, late]
    heapq.heapify(frontier)

    assert heapq.heappop(frontier) is late
