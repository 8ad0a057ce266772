"""Evolution improves margin and cost, keeps the Pareto front, and leaves global chance alone."""

from __future__ import annotations

import itertools
import random

import pytest

from chaosagent.errors import UsageError
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.searchers.evolutionary import EvolutionarySearcher
from chaosagent.searchers.random import RandomSearcher
from chaosagent.searchers.seen.pool import margin_of
from chaosagent.study.searcher import Searcher
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench
from chaosagent.testing.searchers import BUDGET, bench


def told_by(system: Bench, searcher: Searcher, trials_max: int, *, until: str = "") -> list[Evaluation]:
    """Return what a search tells, until the first violation of a contract where one is named."""
    told: list[Evaluation] = []
    while not searcher.finished and len(told) < trials_max:
        for proposal in searcher.ask(1):
            told.append(system.run(proposal.schedule))
            searcher.tell(told[-1])
        if until and violates(told[-1], until):
            break
    return told


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pair", "magnitudes"])
def test_it_needs_fewer_runs_to_a_violation_than_drawing_uniformly(name: str) -> None:
    runs = {EvolutionarySearcher: 0, RandomSearcher: 0}
    for kind, seed in itertools.product(runs, range(3)):
        planted = FAMILIES[name].planted(seed)
        system = Bench(planted.target, (KEPT,), planted.space)
        runs[kind] += len(told_by(system, kind(system.problem(KEPT.id, planted.budget)), 700, until=KEPT.id))

    assert 1.5 * runs[EvolutionarySearcher] < runs[RandomSearcher]


@pytest.mark.slow
def test_what_it_asks_later_is_closer_to_a_violation() -> None:
    planted = FAMILIES["magnitudes"].planted(0)
    system = Bench(planted.target, (KEPT,), planted.space)
    searchers = (kind(system.problem(KEPT.id, 2.4)) for kind in (EvolutionarySearcher, RandomSearcher))

    means = []
    for searcher in searchers:  # the budget is just below the least cost
        margins = [margin_of(one, KEPT.id) for one in told_by(system, searcher, 300)]
        means.append((sum(margins[:100]) / 100, sum(margins[-100:]) / 100))

    (evolved_early, evolved_late), (_, drawn_late) = means
    assert evolved_late < evolved_early - 0.05
    assert evolved_late < drawn_late - 0.05


def test_the_front_holds_the_best_margin_of_each_cost() -> None:
    system = bench()
    searcher = EvolutionarySearcher(system.problem("step-needle", BUDGET))

    told = told_by(system, searcher, 80)

    model = system.space.model
    seen = [(one.effective.declared_cost(model), margin_of(one, "step-needle")) for one in told]
    front = [(point.cost, point.margin) for point in searcher.front]
    assert front[0] == (0.0, margin_of(system.run(EMPTY), "step-needle"))
    for cost, margin in seen:
        assert any(best_cost <= cost and best <= margin for best_cost, best in front)
    assert set(front) <= set(seen)


def test_it_leaves_global_chance_alone() -> None:
    system = bench()
    before = random.getstate()

    told = told_by(system, EvolutionarySearcher(system.problem("rare-needle", BUDGET)), 120)

    assert len(told) == 120  # several selections
    assert random.getstate() == before


def test_another_search_seed_asks_for_other_schedules() -> None:
    system = bench()

    asked = [
        [one.schedule for one in told_by(system, EvolutionarySearcher(problem), 30)]
        for problem in (system.problem("rare-needle", BUDGET, search_seed=seed) for seed in (0, 1))
    ]

    assert asked[0] != asked[1]


def test_no_generation_is_waited_for() -> None:
    system = bench()
    searcher = EvolutionarySearcher(system.problem("rare-needle", BUDGET), population=4)
    told_by(system, searcher, 30)

    asked = [searcher.ask(8) for _ in range(5)]  # nothing told in between

    assert [len(proposals) for proposals in asked] == [8] * 5


def test_a_schedule_costs_no_more_than_the_stretched_budget() -> None:
    system, model = bench(), bench().space.model

    costs = {
        stretch: max(
            one.schedule.declared_cost(model)
            for one in told_by(system, EvolutionarySearcher(system.problem("rare-needle", BUDGET), stretch=stretch), 90)
        )
        for stretch in (1.0, 2.0)
    }

    assert costs[1.0] <= BUDGET < costs[2.0] <= 2.0 * BUDGET


def test_where_all_minimal_are_wanted_it_goes_on_and_asks_for_none_that_holds_one() -> None:
    system, contract = bench(), "final-needle"
    searcher = EvolutionarySearcher(system.problem(contract, BUDGET, all_minimal=True))
    known = MinimalSets(system.space.model)

    told = told_by(system, searcher, 100)

    for one in told:
        assert not known.held_by(one.schedule)
        if violates(one, contract):
            known.add(one.effective)
    assert len(known) > 1


@pytest.mark.slow
def test_individuals_age_where_the_margin_says_nothing() -> None:
    system = bench()
    lengths = {}
    for lifetime in (20, 100_000):
        searcher = EvolutionarySearcher(
            system.problem("rare-needle", 9.0), population=8, lifetime=lifetime, injections_max=1, stretch=1.0
        )
        told = told_by(system, searcher, 250)
        lengths[lifetime] = sum(len(one.schedule) for one in told[150:])

    assert lengths[20] > lengths[100_000]


def test_it_goes_on_when_a_run_could_not_be_made() -> None:
    system = bench()
    searcher = EvolutionarySearcher(system.problem("rare-needle", BUDGET))
    searcher.tell(system.run(EMPTY))

    for proposal in searcher.ask(5):
        searcher.tell(Evaluation(proposal.schedule, Status.ERROR, "killed"))

    assert len(told_by(system, searcher, 20)) == 20


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"population": 3}, r"population is 3; it must be a whole number from 4 to 1000\."),
        ({"crossover": 1.5}, r"crossover is 1\.5; it must be a number from 0 to 1\."),
        ({"lifetime": 0}, r"lifetime is 0; it must be a whole number from 1 to 1000000\."),
        ({"stretch": 0.9}, r"stretch is 0\.9; it must be a number from 1 to 100\."),
        ({"injections_max": 0}, "injections_max is 0; it must be a whole number from 1 to"),
        ({"population": "many"}, "population is 'many'; it must be a whole number"),
    ],
)
def test_it_refuses_settings_outside_their_limits(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check_settings("evolutionary", EvolutionarySearcher, settings)
