"""The bandit prefers arms that paid."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Literal, TypeAlias

import pytest

from chaosagent.errors import UsageError
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.family import KEPT, Planted
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Space
from chaosagent.searchers.bandit import BanditSearcher
from chaosagent.searchers.random import RandomSearcher
from chaosagent.searchers.seen.pool import Arm, margin_of
from chaosagent.study.searcher import Problem, Searcher
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench
from chaosagent.testing.searchers import BUDGET, bench

Policy: TypeAlias = Literal["ucb1", "thompson"]
POLICIES: tuple[Policy, ...] = ("ucb1", "thompson")


def told_by(
    system: Bench, searcher: Searcher, trials_max: int, *, skipping: str = "", until: str = ""
) -> list[Evaluation]:
    """Return what a search tells.

    Args:
        system: Runs what is asked.
        searcher: Asks.
        trials_max: Limit in trials.
        skipping: A contract whose violations are told as runs that could not be made, so that the search goes on.
        until: A contract whose first violation ends it.
    """
    told: list[Evaluation] = []
    while not searcher.finished and len(told) < trials_max:
        for proposal in searcher.ask(1):
            evaluation = system.run(proposal.schedule)
            if skipping and violates(evaluation, skipping):
                evaluation = Evaluation(proposal.schedule, Status.ERROR, "left out")
            told.append(evaluation)
            searcher.tell(evaluation)
        if until and violates(told[-1], until):
            break
    return told


def planted(seed: int) -> tuple[Planted, Bench]:
    family = FAMILIES["magnitudes"].planted(seed)
    return family, Bench(family.target, (KEPT,), family.space)


def arms_of(evaluation: Evaluation) -> set[Arm]:
    return {Arm(injection.operator_name, injection.hook.interface) for injection in evaluation.schedule}


def test_injections_that_cost_nothing_are_worth_what_they_bring() -> None:
    family, _ = planted(0)
    free = Space(family.space.choices, CostModel(c_tokens=0.0, c_hook=1e-9, c_mag=0.0))  # rounded to nothing
    system = Bench(family.target, (KEPT,), free)
    searcher = BanditSearcher(Problem(KEPT.id, 0, free, 1.0, 0))

    told = told_by(system, searcher, 30)

    assert any(evaluation.effective for evaluation in told)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(2))
def test_arms_that_paid_are_pulled_more_often(policy: Policy, seed: int) -> None:
    family, system = planted(seed)
    paying = {Arm(one.operator_name, one.hook.interface) for one in family.minima[0]}
    searcher = BanditSearcher(system.problem(KEPT.id, family.budget), policy=policy, pulled=1.0, continued=0.0)

    told = told_by(system, searcher, 400, skipping=KEPT.id)

    late = Counter(arm for one in told[200:] for arm in arms_of(one))
    others = [count for arm, count in late.items() if arm not in paying]
    assert min(late[arm] for arm in paying) > 3 * sum(others) / len(others)


@pytest.mark.slow
def test_it_needs_fewer_runs_to_a_violation_than_drawing_uniformly() -> None:
    runs = {BanditSearcher: 0, RandomSearcher: 0}
    for kind, seed in itertools.product(runs, range(3)):
        family, system = planted(seed)
        runs[kind] += len(told_by(system, kind(system.problem(KEPT.id, family.budget)), 500, until=KEPT.id))

    assert 2 * runs[BanditSearcher] < runs[RandomSearcher]


@pytest.mark.slow
def test_schedules_begin_with_what_landed_in_the_best_runs() -> None:
    family, system = planted(0)
    shares = {}
    for continued in (0.0, 1.0):
        searcher = BanditSearcher(system.problem(KEPT.id, 2.4), continued=continued)  # just below the least cost
        told = told_by(system, searcher, 200)
        begun = 0
        closer: list[set[Injection]] = []
        for one in told:
            begun += any(known <= set(one.schedule) for known in closer)
            if margin_of(one, KEPT.id) < 0.9:  # that of the run without injections is 1
                closer.append(set(one.effective))
        shares[continued] = begun / len(told)

    assert family.minima
    assert shares[1.0] > 0.5
    assert shares[0.0] < 0.25


def test_thompson_and_ucb1_ask_for_different_schedules() -> None:
    system = bench()
    asked = [
        [one.schedule for one in told_by(system, BanditSearcher(problem, policy=policy), 30)]
        for problem in [system.problem("rare-needle", BUDGET)]
        for policy in POLICIES
    ]

    assert asked[0] != asked[1]
    assert asked[0][0] == asked[1][0] == EMPTY


def test_another_search_seed_asks_for_other_schedules() -> None:
    system = bench()
    asked = [
        [one.schedule for one in told_by(system, BanditSearcher(problem), 30)]
        for problem in (system.problem("rare-needle", BUDGET, search_seed=seed) for seed in (0, 1))
    ]

    assert asked[0] != asked[1]


def test_a_schedule_costs_no_more_than_the_stretched_budget() -> None:
    system, model = bench(), bench().space.model

    costs = {
        stretch: max(
            one.schedule.declared_cost(model)
            for one in told_by(system, BanditSearcher(system.problem("rare-needle", BUDGET), stretch=stretch), 60)
        )
        for stretch in (1.0, 2.0)
    }

    assert costs[1.0] <= BUDGET < costs[2.0] <= 2.0 * BUDGET


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"policy": "greedy"}, r"policy is 'greedy'; it must be one of 'ucb1', 'thompson'\.$"),
        ({"policy": "thomson"}, r"it must be one of 'ucb1', 'thompson'\. Did you mean 'thompson'\?$"),
        ({"policy": 1}, "policy is 1; it must be one of 'ucb1', 'thompson'"),
        ({"exploration": -0.1}, r"exploration is -0\.1; it must be a number from 0 to 100\."),
        ({"exploration": float("nan")}, "exploration is nan; it must be a number"),
        ({"exploration": True}, "exploration is true; it must be a number"),
        ({"pulled": 1.1}, r"pulled is 1\.1; it must be a number from 0 to 1\."),
        ({"continued": -1}, r"continued is -1; it must be a number from 0 to 1\."),
        ({"stretch": 0.5}, r"stretch is 0\.5; it must be a number from 1 to 100\."),
        ({"injections_max": 0}, "injections_max is 0; it must be a whole number from 1 to"),
    ],
)
def test_it_refuses_settings_outside_their_limits(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check_settings("bandit", BanditSearcher, settings)
