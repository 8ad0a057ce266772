"""The pool knows exactly what the runs have shown, whether it looked at each of them closely or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import inject
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.points import Candidate, Expander
from chaosagent.searchers.pool import MISSES_MAX, Arm, Pool, fitting, margin_of, place_of
from chaosagent.seeds import derive
from chaosagent.study.minimise import violates
from chaosagent.study.searcher import Problem
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from chaosagent.testing.programs import Pay, Program, Read, Together, target_of
from chaosagent.testing.searchers import BUDGET, bench

BREAK = Choices("service.lost_response", {"when": ("before",)})
NULL = Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",))
NEEDLE = FinalNeedle(share=6, number=5)


def retrying(*choices: Choices) -> Bench:
    """Return a target that reads twice when the first answer does not come."""
    return Bench(target_of(Program((Read(0, "x", "a", 1), Pay("a")))), (NEEDLE,), Space(choices))


def walked(system: Bench, problem: Problem, runs: int, seed: int) -> list[Evaluation]:
    """Return the runs of a walk that adds to earlier runs what these show to be possible."""
    expander, rng = Expander(problem.space, problem.seed), derive(seed, "walk")
    told = [system.run(EMPTY)]
    while len(told) < runs:
        parent = rng.choice(told)
        candidates = expander.expand(parent, after=-1).candidates
        if candidates and len(parent.schedule) < 3:
            told.append(system.run(parent.schedule.with_injection(rng.choice(candidates).injection)))
    return told


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "system",
    [
        bench(),
        retrying(BREAK, NULL),
        Bench(
            target_of(Program((Together(((Read(0, "x", "a", 1),), (Read(0, "yy", "b", 1),))), Read(0, "x", "a")))),
            (NEEDLE,),
            Space([BREAK, NULL, Choices("service.stale_response", {}), Choices("service.duplicate_delivery", {})]),
        ),
    ],
    ids=["mixed", "retrying", "parallel"],
)
def test_it_knows_what_all_runs_together_have_shown(system: Bench, seed: int) -> None:
    problem = system.problem(NEEDLE.id, BUDGET)
    told = walked(system, problem, 60, seed)
    pool = Pool(problem)
    fresh: list[Candidate] = []

    for evaluation in told:
        fresh += pool.learn(evaluation)

    expander = Expander(problem.space, problem.seed)
    shown = {found.injection for told_of in told for found in expander.expand(told_of, after=-1).candidates}
    assert {candidate.injection for candidate in pool.candidates} == shown
    assert fresh == pool.candidates
    by_site = [candidate.injection for site in pool.sites.values() for candidate in site.candidates]
    by_arm = [candidate.injection for arm in pool.arms.values() for candidate in arm]
    assert sorted(by_site) == sorted(by_arm) == sorted(shown)


def test_what_is_dearer_than_the_budget_is_left_out() -> None:
    system = retrying(BREAK, NULL)
    cheap, dear = Pool(system.problem(NEEDLE.id, 1.05)), Pool(system.problem(NEEDLE.id, 3.0))

    for pool in (cheap, dear):
        pool.learn(system.run(EMPTY))

    assert {candidate.cost for candidate in dear.candidates} > {candidate.cost for candidate in cheap.candidates}
    assert all(candidate.cost <= 1.05 for candidate in cheap.candidates)


def test_it_keeps_the_cheapest_way_to_a_place_that_faults_brought_about() -> None:
    system = retrying(BREAK)
    pool = Pool(system.problem(NEEDLE.id, 9.0))
    pool.learn(system.run(EMPTY))
    first, last = (candidate.injection for candidate in pool.candidates)
    both = schedule([first, last])

    pool.learn(system.run(both))

    (retry,) = [site for site in pool.sites.values() if site.place.attempt == 1]
    assert list(retry.needs) == [first]  # and not the one that acts behind it
    assert retry.needs_cost == pool.cost(first)
    assert [pool.needs(candidate.injection) for candidate in retry.candidates] == [schedule([first])]
    assert retry.place in {crossing.place for crossing in system.run(retry.needs).crossings}


def test_an_injection_that_never_lands_becomes_idle_and_one_that_lands_does_not() -> None:
    system = retrying(BREAK, NULL)
    problem = system.problem(NEEDLE.id, 9.0)
    pool = Pool(problem)
    pool.learn(system.run(EMPTY))
    injection = pool.candidates[0].injection
    missed = replace(system.run(EMPTY), schedule=schedule([injection]))

    for number in range(MISSES_MAX):
        assert not pool.is_idle(injection), number
        pool.learn(missed)
    assert pool.is_idle(injection)

    pool.learn(system.run(schedule([injection])))
    assert not pool.is_idle(injection)


def test_the_ceiling_falls_to_below_the_cheapest_violation() -> None:
    system = bench()
    violating = next(told for told in walked(system, system.problem(NEEDLE.id, BUDGET), 60, 1) if _is_broken(told))
    one, every = (Pool(system.problem(NEEDLE.id, BUDGET, all_minimal=wanted)) for wanted in (False, True))

    for pool in (one, every):
        assert BUDGET < pool.ceiling < BUDGET + 0.001
        assert not pool.is_known(violating.effective)
        pool.learn(violating)

    cost = violating.effective.declared_cost(system.space.model)
    assert cost - 0.001 < one.ceiling < cost == one.best
    assert every.ceiling > BUDGET
    assert every.is_known(violating.effective)
    assert not every.is_known(EMPTY)


def _is_broken(told: Evaluation) -> bool:
    return told.schedule != EMPTY and violates(told, NEEDLE.id)


def test_what_could_not_be_run_teaches_nothing() -> None:
    system = retrying(BREAK)
    pool = Pool(system.problem(NEEDLE.id, BUDGET))

    assert pool.learn(Evaluation(EMPTY, Status.ERROR, "killed")) == ()

    assert margin_of(Evaluation(EMPTY, Status.ERROR, "killed"), NEEDLE.id) == 1.0
    assert pool.learn(system.run(EMPTY))


def test_arms_are_operators_on_interfaces() -> None:
    system = retrying(BREAK, NULL)
    pool = Pool(system.problem(NEEDLE.id, BUDGET))

    pool.learn(system.run(EMPTY))

    for arm, candidates in pool.arms.items():
        of_arm = {Arm(one.injection.operator_name, one.injection.hook.interface) for one in candidates}
        assert of_arm == {arm}


def test_what_fits_together_is_one_at_a_place_and_no_dearer_than_the_ceiling() -> None:
    system = retrying(BREAK, NULL)
    pool = Pool(system.problem(NEEDLE.id, 9.0))
    pool.learn(system.run(EMPTY))
    injections = [candidate.injection for candidate in pool.candidates]
    crossing = system.run(EMPTY).crossings[0]
    elsewhere = [injection for injection in injections if place_of(injection) != crossing.place]

    everything: Schedule = schedule(fitting(injections, pool, 9.0))
    cheap = schedule(fitting(injections, pool, 1.5))

    assert len({place_of(injection) for injection in everything}) == len(everything) == len(pool.sites)
    assert len(cheap) == 1
    assert elsewhere
    assert inject(injections[0].hook, injections[0].operator) in pool
