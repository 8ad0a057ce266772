"""How sure the area under R(B) is."""

import pytest

from chaosagent.errors import UsageError
from chaosagent.metrics.area_interval import area_interval
from chaosagent.metrics.robustness import adversarial_curve
from chaosagent.study.certificate import Certificate
from chaosagent.study.result import SearchResult


def search(
    number: int, cost: float | None, bound: float, contract: str = "objective", *, seed: int = 0
) -> SearchResult:
    certificate = Certificate("C1", cost, bound, 2.0, executed=1)
    return SearchResult(f"task-{number}", seed, contract, 1, False, (), certificate)


def test_the_interval_is_around_the_area_and_wider_where_searches_are_open() -> None:
    decided = [search(number, 1.0 if number % 2 else None, 1.0 if number % 2 else 3.0) for number in range(20)]
    undecided = [*decided, *(search(number, None, 0.5) for number in range(20, 24))]

    closed, left_open = (area_interval(some, 2.0) for some in (decided, undecided))

    area = adversarial_curve(decided, 2.0).area
    assert closed.low < area.low == area.high < closed.high
    assert left_open.high - left_open.low > closed.high - closed.low


def test_more_seeds_of_the_same_tasks_tell_nothing_of_other_tasks() -> None:
    def searches(seeds: int) -> list[SearchResult]:
        return [
            search(number, 1.0 if number % 2 else None, 1.0 if number % 2 else 3.0, seed=seed)
            for number in range(20)
            for seed in range(seeds)
        ]

    once, often = (area_interval(searches(seeds), 2.0) for seeds in (1, 10))

    assert once == often


def test_a_few_broken_tasks_among_many_do_not_make_it_narrow() -> None:
    none = area_interval([search(number, None, 3.0) for number in range(20)], 2.0)
    few = area_interval([search(number, None, 3.0) for number in range(4)], 2.0)

    assert none.low < 0.9 < none.high == 1.0, "one of 20 more tasks may well break, though none of these does"
    assert few == (0.0, 1.0)


def test_without_a_search_against_the_objective_there_is_none() -> None:
    with pytest.raises(UsageError, match="Add it to the study's contracts"):
        area_interval([search(0, None, 3.0, "no-crash")], 2.0)
