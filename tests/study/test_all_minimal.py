"""A search that wants several counterexamples knows all minimal ones in the end, and says how far that is so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.experiments.benchmarks.planted.rows import family_of
from chaosagent.faults.injection import Hook
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.certificate import Certificate
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.searcher import Purpose
from chaosagent.study.sink import Sink
from chaosagent.study.trial import Trial
from chaosagent.targets.target import Target
from chaosagent.testing.bench import Bench, TooLargeError
from tests.lab.targets.programs import Pay, Program, Read, target_of
from tests.lab.targets.random_cases import BLINDNESS, BREAK, COST_PAIR, ERROR, LOSS, needles, random_case
from tests.thorough import cases

INFINITE = float("inf")
PROGRAM = Program((Read(0, "x", "a", 1), Pay("a", "a", 1), Pay("a", "b", 1)))
CHOICES = (BLINDNESS, LOSS, BREAK, ERROR)
MODEL = CostModel()


def plan_of(system: Target, choices: Iterable[Choices] = CHOICES, **more: object) -> Plan:
    bare = Plan(
        target=system,
        target_reference=system.name,
        config=next(iter(system.configs.values())),
        tasks=tuple(system.tasks.values())[:1],
        seeds=(0,),
        contracts=(parse_contract("at-most-once"),),
        space=Space(tuple(choices)),
        budget=COST_PAIR,
        all_minimal=True,
        limits=StudyLimits(trials_max=50_000),
    )
    return replace(bare, **more)  # type: ignore[arg-type]  # the tests know the fields


def run(plan: Plan, *sinks: Sink) -> StudyResult:
    return Study(plan, InlineExecutor(plan.workbench()), sinks=sinks).run()


def only(plan: Plan, *sinks: Sink) -> SearchResult:
    (search,) = run(plan, *sinks).searches
    return search


def places(schedules: Iterable[Schedule]) -> set[frozenset[tuple[Hook, float]]]:
    """Return schedules as what they cost at which hook: equal ones hold each other."""
    return {
        frozenset((injection.hook, MODEL.of(injection.operator)) for injection in schedule) for schedule in schedules
    }


def found_by(search: SearchResult) -> set[frozenset[tuple[Hook, float]]]:
    return places(found.schedule for found in search.counterexamples)


class Trials(Sink):
    """Takes the trials of a study."""

    def __init__(self) -> None:
        self.told: list[Trial] = []

    def trial(self, at: object, contract: str, trial: Trial) -> None:
        del at, contract
        self.told.append(trial)


def check(seed: int) -> int:
    """Compare a search of a random program with the plain truth; return how many minimal counterexamples it has."""
    case = random_case(seed)
    truth = case.bench().minimal(case.contract, COST_PAIR)
    contract = next(one for one in needles(case.number) if one.id == case.contract)
    plan = plan_of(target_of(case.program), case.choices, contracts=(contract,), lookahead=case.lookahead)

    search = only(replace(plan, searcher_settings={"r3": False}))
    quick = only(plan)

    if truth == (EMPTY,):
        assert search.violated_nominally
        assert search.counterexamples == ()
        return 1
    assert found_by(search) == places(truth)
    assert search.certificate.complete
    assert search.certificate.known_below == INFINITE
    for ended_early in (
        replace(plan, limits=StudyLimits(trials_max=5)),
        replace(plan, limits=StudyLimits(trials_max=30)),
        replace(plan, all_minimal=False, signatures=1),
    ):
        early = only(replace(ended_early, searcher_settings={"r3": False}))
        below = [minimal for minimal in truth if minimal.declared_cost(MODEL) < early.certificate.known_below]
        assert places(below) <= found_by(early)
        assert not early.certificate.complete or found_by(early) == places(truth)
        assert all(found.minimal for found in early.counterexamples)
    for result in (search, quick):
        assert all(found.minimal and found.confirmed for found in result.counterexamples)
        assert [found.cost for found in result.counterexamples] == sorted(
            found.cost for found in result.counterexamples
        )
    assert [found.cost for found in quick.counterexamples[:1]] == [found.cost for found in search.counterexamples[:1]]
    return len(truth)


@pytest.mark.slow
@cases(40)
@given(seed=st.integers(0, 2**32))
def test_all_minimal_counterexamples_of_exhaustive_enumeration_are_found(seed: int) -> None:
    try:
        check(seed)
    except TooLargeError:
        assume(False)


@pytest.mark.slow
def test_of_one_program_they_are_found_and_each_is_minimal_by_runs() -> None:
    bench = Bench(target_of(PROGRAM), needles(0), Space(CHOICES))
    truth = bench.minimal("at-most-once", COST_PAIR)

    search = only(plan_of(target_of(PROGRAM), searcher_settings={"r3": False}))

    assert len(truth) >= 2
    assert found_by(search) == places(truth)
    assert all(found.minimal and found.confirmed for found in search.counterexamples)
    assert len({found.id for found in search.counterexamples}) == len(truth)
    assert search.certificate.answers == len(truth)


def test_one_that_is_as_cheap_as_the_cheapest_is_certified_and_dearer_ones_are_not() -> None:
    search = only(plan_of(target_of(PROGRAM)))

    cheapest = search.counterexamples[0].cost
    certified = {found.cost: found.certificate.certified for found in search.counterexamples}
    assert certified[cheapest]
    assert len(certified) >= 2
    assert not any(is_certified for cost, is_certified in certified.items() if cost > cheapest)


@pytest.mark.slow
def test_both_minima_of_a_target_with_two_are_found_and_certified() -> None:
    planted = family_of("disjoint").planted(0)
    assert planted.minimum is not None
    plan = plan_of(planted.target, contracts=(KEPT,), space=planted.space, budget=planted.minimum)

    search = only(plan)

    assert found_by(search) == places(planted.minima)
    assert all(found.certificate.certified and found.minimal for found in search.counterexamples)
    assert search.certificate.complete


def test_by_default_one_is_found_and_nothing_is_said_of_others() -> None:
    plan = plan_of(target_of(PROGRAM), all_minimal=False)

    search = only(plan)

    assert len(search.counterexamples) == 1
    assert search.counterexample is search.counterexamples[0]
    assert (search.certificate.answers, search.certificate.complete) == (None, False)
    assert plan.digest != replace(plan, all_minimal=True).digest != replace(plan, signatures=2).digest


def test_a_search_ends_once_it_knows_as_many_signatures_as_are_wanted() -> None:
    every = plan_of(target_of(PROGRAM), searcher="exact")
    all_of_them = only(every)
    kinds = {found.signature for found in all_of_them.counterexamples}

    some = only(replace(every, all_minimal=False, signatures=2, lookahead=1))
    more_than_there_are = only(replace(every, all_minimal=False, signatures=len(kinds) + 1))

    assert len(kinds) > 2
    assert len({found.signature for found in some.counterexamples}) >= 2  # what needs no run to be reduced comes along
    assert some.trials < all_of_them.trials
    assert not some.certificate.complete
    assert not some.certificate.limit_reached
    assert more_than_there_are.certificate.complete
    assert found_by(more_than_there_are) == found_by(all_of_them)


def test_a_limit_leaves_those_below_the_bound_and_says_that_there_may_be_more() -> None:
    every = only(plan_of(target_of(PROGRAM)))

    search = only(plan_of(target_of(PROGRAM), limits=StudyLimits(trials_max=20)))

    assert 0 < len(search.counterexamples) < len(every.counterexamples)
    assert not search.certificate.complete
    assert search.certificate.limit_reached
    assert all(found.minimal for found in search.counterexamples)


def test_what_a_searcher_finds_that_never_proves_is_reduced_too() -> None:
    trials = Trials()
    limits = StudyLimits(trials_max=200)

    search = only(plan_of(target_of(PROGRAM), searcher="random", limits=limits, budget=3.6, lookahead=1), trials)

    assert len(search.counterexamples) >= 2
    assert all(found.minimal for found in search.counterexamples)
    assert not search.certificate.complete
    assert any(trial.purpose is Purpose.SHRINK for trial in trials.told)
    schedules = [trial.schedule for trial in trials.told]
    assert len(schedules) == len(set(schedules)), "what was told is not asked again"


@pytest.mark.slow
def test_contracts_and_tasks_have_lists_of_their_own() -> None:
    contracts = (*default_contracts(), parse_contract("objective"))

    result = run(plan_of(target_of(PROGRAM), contracts=contracts, seeds=(0, 1)))

    for search in result.searches:
        assert {(found.contract, found.seed) for found in search.counterexamples} <= {(search.contract, search.seed)}
    assert len(result.counterexamples) == sum(len(search.counterexamples) for search in result.searches)
    assert len(result.counterexamples) > len([search for search in result.searches if search.counterexamples])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "C1: all minimal counterexamples of cost up to 2.2 are known, 3 in all. 9 executed"),
        (
            {"known_below": 2.1, "limit_reached": True},
            "C1: all minimal counterexamples cheaper than 2.1 are known, 3 found, dearer ones are open. 9 executed",
        ),
        (
            {"known_below": 0.0, "lower_bound": 0.0, "level": "C0"},
            "C0: nothing is proved about cheaper schedules. 9 executed",
        ),
        ({"answers": 0, "cost": None, "lower_bound": INFINITE}, "C1: no violating schedule of cost up to 2.2. 9"),
        ({"answers": None}, "C1: no violating schedule cheaper than 1.1. 9 executed"),
        ({"reproduced": False}, "nothing is proved: a repeated run differed. 9 executed"),
    ],
)
def test_a_certificate_says_how_far_all_are_known(changes: dict[str, Any], told: str) -> None:
    whole = Certificate("C1", 1.1, 1.1, 2.2, 9, answers=3, known_below=INFINITE)
    certificate = replace(whole, **changes)

    assert str(certificate).startswith(told)
    assert str(certificate).endswith(". The search ended at its limit.") == certificate.limit_reached
    assert certificate.complete == (changes in ({}, {"answers": 0, "cost": None, "lower_bound": INFINITE}))
