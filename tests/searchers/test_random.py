"""The random searcher draws evenly, within the budget, and takes along what a place needs to exist."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.space import Choices, Space
from chaosagent.operators.service.delay import Delay
from chaosagent.searchers.drawing.uniform import shuffle
from chaosagent.searchers.random import RandomSearcher
from chaosagent.searchers.seen.points import Candidate
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from tests.lab.targets.programs import Pay, Program, Read, target_of


def candidates_of(count: int) -> list[Candidate]:
    hooks = [Hook("service:crm", "", number, number) for number in range(1, count + 1)]
    return [Candidate(1.0, number, inject(hook, Delay())) for number, hook in enumerate(hooks)]


@pytest.mark.parametrize("count", [0, 1, 5, 22])
def test_shuffled_yields_each_candidate_once(count: int) -> None:
    candidates = candidates_of(count)

    drawn = list(shuffle(candidates, random.Random(count)))

    assert len(drawn) == count
    assert set(drawn) == set(candidates)


def test_shuffled_yields_each_order_equally_often() -> None:
    candidates, rng = candidates_of(3), random.Random(7)

    orders = Counter(tuple(one.position for one in shuffle(candidates, rng)) for _ in range(6_000))

    assert len(orders) == 6
    assert all(850 < count < 1_150 for count in orders.values())


def system(needle: FinalNeedle) -> Bench:
    choices = (
        Choices("service.lost_response", {"when": ("before",)}),
        Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",)),
    )
    return Bench(
        target_of(Program((Read(0, "x", "a", 2), Read(1, "yy", "b"), Pay("a", "b", 1)))), (needle,), Space(choices)
    )


def told_by(bench: Bench, needle: str, budget: float, *, all_minimal: bool = False) -> list[Evaluation]:
    """Return what a search tells, from its beginning until it has finished."""
    searcher, told = RandomSearcher(bench.problem(needle, budget, all_minimal=all_minimal)), []
    while not searcher.finished:
        for proposal in searcher.ask(1):
            told.append(bench.run(proposal.schedule))
            searcher.tell(told[-1])
    return told


def test_a_place_that_faults_bring_about_is_drawn_with_those_faults() -> None:
    told = told_by(system(FinalNeedle(share=10_000, id="rare")), "rare", 3.4)

    deep = [one for one in told if any(injection.hook.attempt == 2 for injection in one.schedule)]
    assert deep
    assert all(one.effective == one.schedule for one in deep)


@pytest.mark.parametrize("number", [5, 7, 11])
def test_behind_a_violation_only_cheaper_schedules_are_asked_and_the_cheapest_is_found(number: int) -> None:
    bench = system(FinalNeedle(share=3, number=number))

    told = told_by(bench, "final-needle", 3.4)

    best = float("inf")
    for one in told:
        assert one.schedule.declared_cost(bench.space.model) < best
        if violates(one, "final-needle"):
            best = min(best, one.effective.declared_cost(bench.space.model))
    assert best == bench.minimum("final-needle", 3.4)


@pytest.mark.parametrize("number", [8, 13, 19])
def test_where_all_minimal_are_wanted_it_finds_all_and_asks_for_none_that_holds_one(number: int) -> None:
    bench = system(FinalNeedle(share=3, number=number))

    told = told_by(bench, "final-needle", 2.3, all_minimal=True)

    known = MinimalSets(bench.space.model)
    for one in told:
        assert not known.held_by(one.schedule)
        if violates(one, "final-needle"):
            known.add(one.effective)
    every = bench.minimal("final-needle", 2.3)
    assert len(every) > 1
    assert all(known.held_by(minimal) for minimal in every)


def test_it_refuses_schedules_without_injections() -> None:
    with pytest.raises(UsageError, match="injections_max is 0; it must be a whole number from 1 to"):
        check_settings("random", RandomSearcher, {"injections_max": 0})
