"""Where all minimal counterexamples are wanted, the exact searcher finds those of exhaustive enumeration."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.space import Space
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.seeds import derive
from chaosagent.study.searcher import SearchProgress
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench, TooLargeError
from chaosagent.testing.enumeration import drive
from tests.lab.targets.programs import Pay, Program, Read, target_of
from tests.lab.targets.random_cases import BLINDNESS, BREAK, COST_PAIR, ERROR, LOSS, needles, random_case
from tests.thorough import cases

INFINITE = float("inf")


def search(
    bench: Bench,
    name: str,
    lookahead: int,
    told_before: Iterable[Schedule] = (),
    trials_max: int = 100_000,
    **rules: bool,
) -> tuple[MinimalSets, SearchProgress, list[Schedule]]:
    """Return the minimal ones of all violations that a search has met, how it stands, and what was run for it."""
    found, run = MinimalSets(bench.space.model), []
    searcher = ExactSearcher(bench.problem(name, COST_PAIR, all_minimal=True), **rules)

    def told(schedule: Schedule) -> Evaluation:
        run.append(schedule)
        evaluation = bench.run(schedule)
        if violates(evaluation, name):
            found.add(evaluation.effective)
        return evaluation

    for schedule in told_before:
        searcher.tell(told(schedule))
    run.clear()
    for _ in range(trials_max):
        proposals = searcher.ask(lookahead)
        if not proposals:
            break
        for proposal in proposals:
            searcher.tell(told(proposal.schedule))
    return found, searcher.progress, run


def costs_of(schedules: Iterable[Schedule], bench: Bench) -> set[frozenset[tuple[Hook, float]]]:
    """Return schedules as what they cost at which hook: equal ones hold each other."""
    return {
        frozenset((injection.hook, bench.space.model.of(injection.operator)) for injection in schedule)
        for schedule in schedules
    }


def check(seed: int, budget: float = COST_PAIR) -> int:
    """Compare a search with the plain truth, with and without what others told before; return how many there are."""
    case = random_case(seed)
    bench = case.bench()
    truth = bench.minimal(case.contract, budget)
    model, rng = bench.space.model, derive(seed, "told before")
    costs = [minimal.declared_cost(model) for minimal in truth]
    before = rng.sample(bench.executed, min(len(bench.executed), 12))
    for told_before in ((), before):
        for r2 in (False, True):
            found, progress, run = search(bench, case.contract, case.lookahead, told_before, r2=r2, r3=False)
            assert costs_of(found, bench) == costs_of(truth, bench), r2
            assert progress.lower_bound == INFINITE
            assert len(set(run)) == len(run)
        found, progress, _ = search(bench, case.contract, case.lookahead, told_before)
        assert min((known.declared_cost(model) for known in found), default=None) == min(costs, default=None)
        assert progress.lower_bound == INFINITE
    for trials_max in (3, 10, 30):
        found, progress, _ = search(bench, case.contract, 1, before, trials_max, r3=False)
        known = costs_of(found, bench)
        for minimal, cost in zip(truth, costs, strict=True):
            assert cost >= progress.lower_bound or costs_of([minimal], bench) <= known
    return len(truth)


@pytest.mark.slow
@cases(100)
@given(seed=st.integers(0, 2**32))
def test_all_minimal_counterexamples_of_exhaustive_enumeration_are_found(seed: int) -> None:
    try:
        check(seed)
    except TooLargeError:
        assume(False)


PROGRAM = Program((Read(0, "x", "a", 1), Pay("a", "a", 1), Pay("a", "b", 1)))
CHOICES = [BLINDNESS, LOSS, BREAK, ERROR]


def test_several_minimal_counterexamples_are_found_and_nothing_that_holds_one_is_run() -> None:
    bench = Bench(target_of(PROGRAM), needles(0), Space(CHOICES))
    truth = bench.minimal("at-most-once", COST_PAIR)

    found, progress, run = search(bench, "at-most-once", 1)

    assert len(truth) >= 2
    assert costs_of(found, bench) == costs_of(truth, bench)
    assert progress.lower_bound == INFINITE
    known = MinimalSets(bench.space.model)
    for schedule in run:
        assert not known.held_by(schedule), schedule
        if violates(bench.run(schedule), "at-most-once"):
            known.add(schedule)


def test_the_bound_goes_on_behind_a_violation() -> None:
    bench = Bench(target_of(PROGRAM), needles(0), Space(CHOICES))
    cheapest = bench.minimum("at-most-once", COST_PAIR)
    one = ExactSearcher(bench.problem("at-most-once", COST_PAIR))
    drive(one, bench.run)

    _, progress, run = search(bench, "at-most-once", 1)

    assert cheapest is not None
    assert one.progress.lower_bound == cheapest < progress.lower_bound
    assert max(schedule.declared_cost(bench.space.model) for schedule in run) > cheapest


def test_a_violation_that_is_not_minimal_hides_no_smaller_one() -> None:
    bench = Bench(target_of(PROGRAM), needles(0), Space(CHOICES))
    truth = bench.minimal("at-most-once", COST_PAIR)
    minimal = MinimalSets(bench.space.model)
    for known in truth:
        minimal.add(known)
    larger = [
        schedule
        for schedule in bench.executed
        if violates(bench.run(schedule), "at-most-once") and schedule not in truth and minimal.held_by(schedule)
    ]

    found, progress, _ = search(bench, "at-most-once", 1, larger)

    assert len(larger) >= 10
    assert costs_of(found, bench) == costs_of(truth, bench)
    assert progress.lower_bound == INFINITE


def test_a_violation_without_injections_is_the_only_minimal_one() -> None:
    bench = Bench(target_of(Program((Read(0, "x", "a"),))), needles(0), Space(CHOICES))

    found, progress, run = search(bench, "objective", 1)

    assert list(found) == [EMPTY]
    assert (progress.lower_bound, len(run)) == (INFINITE, 1)
