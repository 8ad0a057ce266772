"""Every family of the planted benchmark is what it says: its size, its minimum, its layouts, its chance."""

from __future__ import annotations

import random

import pytest

from chaosagent.experiments.benchmarks.planted.arena import Arena, job_of, workbench_of
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.engines.engine import drawn
from chaosagent.experiments.benchmarks.planted.family import CERTAIN, KEPT, Chance, Family
from chaosagent.experiments.benchmarks.planted.truth import TooDearError, proved
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import inject
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.seeds import derive
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.enumeration import enumerate_minimum

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
BY_ENUMERATION = ("single", "pair", "text", "chance-single", "chance-pair", "robust", "disjoint")
BY_RULES = {"staged": "R1 R2", "triple": "R1 R2", "magnitudes": "R1 R2", "retry": "R1 R2 R3", "redundant": "R1 R2 R3"}
BY_RULES["sparse"] = "R1 R2 R3"
DRAWS = 400


def _run(family: Family, seed: int, schedule: Schedule, chance: Chance = CERTAIN) -> Evaluation:
    return workbench_of(family.planted(seed, chance=chance)).evaluate(job_of(schedule))


@every_family
def test_a_family_has_the_size_and_the_least_cost_of_its_row(family: Family) -> None:
    planted = family.planted(3)

    assert len(set(planted.hooks)) == len(planted.hooks) == family.hooks
    assert {len(planted.levels(hook)) for hook in planted.hooks} == {family.levels}
    assert planted.minimum == family.minimum
    assert {found.declared_cost(planted.space.model) for found in planted.minima} <= {family.minimum}


@every_family
def test_the_run_without_faults_is_a_success_and_holds(family: Family) -> None:
    evaluation = _run(family, 1, EMPTY)

    assert evaluation.success is True
    assert not violates(evaluation, KEPT.id)


@every_family
def test_what_is_planted_breaks_the_contract_and_all_of_it_lands(family: Family) -> None:
    for seed in range(3):
        for planted in family.planted(seed).minima:
            evaluation = _run(family, seed, planted)

            assert violates(evaluation, KEPT.id)
            assert evaluation.effective == planted


@every_family
def test_no_injection_of_what_is_planted_can_be_spared(family: Family) -> None:
    for planted in family.planted(2).minima:
        for injection in planted:
            assert not violates(_run(family, 2, planted.without(injection)), KEPT.id)


@every_family
def test_other_seeds_give_other_layouts_and_the_same_seed_the_same(family: Family) -> None:
    places = [family.planted(seed).hooks for seed in (0, 1, 0)]

    assert places[0] != places[1]
    assert places[0] == places[2]
    assert family.planted(0).minima == family.planted(0).minima


@every_family
def test_the_same_schedule_goes_the_same_way_with_and_without_checkpoints(family: Family) -> None:
    planted = family.planted(0, chance=CERTAIN)
    bare = family.planted(0, chance=CERTAIN, checkpoints=False)
    rng = derive(0, "test")
    schedules = [_drawn(family, size, rng) for size in (1, 2, 3)]

    for schedule in schedules:
        with_rests, without = (workbench_of(system).evaluate(job_of(schedule)) for system in (planted, bare))
        assert with_rests.digest == without.digest


def _drawn(family: Family, size: int, rng: random.Random) -> Schedule:
    arena = Arena(family, 0, 1)
    return drawn(arena, rng.sample(arena.hooks, size), rng)


@every_family
@pytest.mark.slow
def test_runs_show_the_declared_hooks_and_no_others(family: Family) -> None:
    arena, planted = Arena(family, 0, 1), family.planted(0, chance=CERTAIN)
    workbench, rng = workbench_of(planted), derive(1, "test")
    reached = set()
    schedules = [EMPTY] + [drawn(arena, rng.sample(arena.hooks, rng.randint(1, 4)), rng) for _ in range(600)]
    schedules += [
        found.without(injection).with_injection(inject(injection.hook, operator))
        for found in planted.minima
        for injection in found
        for operator in planted.levels(injection.hook)
    ]
    for schedule in schedules:
        for crossing in workbench.evaluate(job_of(schedule)).crossings:
            if planted.space.at(crossing.boundary, crossing.place.interface, crossing.place.agent):
                reached.add(crossing.place)

    declared = [next((hook for hook in planted.hooks if hook.matches(place)), None) for place in reached]

    assert None not in declared
    assert set(declared) == set(planted.hooks)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_ENUMERATION)
def test_running_every_schedule_up_to_the_least_cost_finds_no_cheaper_violation(name: str) -> None:
    planted = FAMILIES[name].planted(4, chance=CERTAIN)
    workbench = workbench_of(planted)

    found = enumerate_minimum(
        lambda schedule: workbench.evaluate(job_of(schedule)), KEPT.id, planted.space, planted.minimum or planted.budget
    )

    assert found.cost == FAMILIES[name].minimum


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rules"), BY_RULES.items())
def test_what_is_too_large_to_enumerate_is_proved_with_plain_rules(name: str, rules: str) -> None:
    proof = proved(FAMILIES[name].planted(4, chance=CERTAIN), rules, 20_000)

    assert proof.minimum == FAMILIES[name].minimum


def test_a_proof_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(TooDearError, match="R1 R2: not with 5 executions"):
        proved(FAMILIES["pair"].planted(0), "R1 R2", 5)


def test_both_weaknesses_of_the_disjoint_family_share_no_hook() -> None:
    one, other = FAMILIES["disjoint"].planted(5).minima

    assert not {injection.hook for injection in one} & {injection.hook for injection in other}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chance-single", "chance-pair"])
def test_a_stochastic_family_goes_wrong_at_its_rate_and_flakes_at_another(name: str) -> None:
    planted = FAMILIES[name].planted(0)
    workbench = workbench_of(planted)

    def share(schedule: Schedule) -> float:
        return sum(violates(workbench.evaluate(job_of(schedule)), KEPT.id) for _ in range(DRAWS)) / DRAWS

    assert 0.22 < share(planted.minima[0]) < 0.38
    assert share(EMPTY) < 0.05


@pytest.mark.parametrize("name", ["chance-single", "chance-pair"])
def test_the_draws_of_a_stochastic_family_repeat(name: str) -> None:
    planted = [FAMILIES[name].planted(seed) for seed in (0, 0)]

    runs = [
        [violates(workbench.evaluate(job_of(system.minima[0])), KEPT.id) for _ in range(30)]
        for system, workbench in ((system, workbench_of(system)) for system in planted)
    ]

    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 2
